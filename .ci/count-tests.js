// Names the failed tests of vitest's JSON reports in a folder, and adds all up in one line. Exit code 1 when none ran or one failed.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import process from 'node:process'

const folder = process.argv[2]
const reports = readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))
const sum = (member) => reports.reduce((total, report) => total + report[member], 0)

const say = (what, errors) => {
  const lines = errors.join('\n').split('\n')
  const ours = lines.filter((line) => !line.includes('/node_modules/'))
  process.stdout.write(`FAILED: ${what}\n${ours.join('\n')}\n`)
}
for (const { name, message, assertionResults } of reports.flatMap((report) => report.testResults)) {
  const file = relative(process.cwd(), name)
  if (message) say(file, [message])
  for (const { status, fullName, failureMessages } of assertionResults) {
    if (status === 'failed') say(`${file}: ${fullName}`, failureMessages)
  }
}

const passed = sum('numPassedTests')
const failed = sum('numFailedTests')
const skipped = sum('numPendingTests') + sum('numTodoTests')
process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0
