// Adds up the JSON reports of vitest in a folder and prints one line. Exit code 1 when no test ran or one failed.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

const folder = process.argv[2]
const reports = readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))
const sum = (member) => reports.reduce((total, report) => total + report[member], 0)

const passed = sum('numPassedTests')
const failed = sum('numFailedTests')
const skipped = sum('numPendingTests') + sum('numTodoTests')
process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0
