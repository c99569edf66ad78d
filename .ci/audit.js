// Judges the report of `npm audit --json` on standard input. Exit code 1 when it names an advisory that is not among the exceptions, each of
// which has a reason; a registry that has no audit, or is away, is told and fails nothing.
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { URL } from 'node:url'

const exceptions = JSON.parse(readFileSync(new URL('./audit-exceptions.json', import.meta.url), 'utf8'))
const say = (line) => process.stdout.write(`${line}\n`)

const report = read(await text(process.stdin))
if (report.vulnerabilities === undefined) say(`Advisories not checked: ${report.message ?? 'npm gave no report'}`)
else judge(Object.values(report.vulnerabilities).flatMap(({ via }) => via.filter((one) => typeof one === 'object')))

function read(text) {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

function judge(advisories) {
  const known = new Map(exceptions.map(({ advisory, reason }) => [advisory, reason]))
  const found = new Map(advisories.map((one) => [one.url.split('/').pop(), one]))
  for (const [id, { name, severity, title, url }] of found) {
    const reason = known.get(id)
    say(`${reason === undefined ? 'ADVISORY' : `excepted (${reason})`}: ${name}, ${severity}: ${title} ${url}`)
    if (reason === undefined) process.exitCode = 1
  }
  for (const id of known.keys()) if (!found.has(id)) say(`${id} is no longer found: take it off the exceptions`)
  say(`${found.size} advisories for production packages`)
}
