/** Samples of the documentation run: the lines of the quickstart, and what verifies signatures in each language that is here. */

import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { signatureHeaders } from '../../src/delivery/sign.ts'
import { packageVersion } from '../../src/package-version.ts'
import { openShell } from '../cli/command.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'

const pageOf = (name: string): string => readFileSync(resolve(import.meta.dirname, '../../docs', `${name}.md`), 'utf8')

/** The first block of code in a language that stands on a page. */
function sample(page: string, language: string): string {
  const [, code] = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(pageOf(page)) ?? []
  if (code === undefined) throw new Error(`docs/${page}.md has no sample in ${language}`)
  return code
}

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

it('the lines of the quickstart lead an event to an endpoint', async () => {
  await using receiver = await startReceiver()
  await using shell = await openShell(node.url)
  const lines = sample('quickstart', 'sh').replaceAll('npx postrider', 'postrider')
  for (const line of lines.replace('http://127.0.0.1:3000', receiver.url).trim().split('\n')) {
    const { code, stderr } = await shell.sh(line)
    expect([line, code, stderr]).toEqual([line, 0, expect.anything()])
  }
  const [request] = await receiver.received(1)
  expect(JSON.parse(request?.body.toString() ?? '')).toMatchObject({
    type: 'track',
    event: 'Order Completed',
    userId: 'u1',
  })
})

it('npx in a checkout runs what is built there, and does not build it again', { timeout: 120_000 }, async () => {
  const checkout = resolve(import.meta.dirname, '../..')
  const program = join(checkout, 'dist/src/postrider.cjs')
  const { mtimeMs } = await stat(program)
  const cache = await mkdtemp(join(tmpdir(), 'postrider-npx-'))
  onTestFinished(() => rm(cache, { recursive: true, force: true }))
  const env = { ...process.env, npm_config_cache: cache }
  const { stdout } = await promisify(execFile)('npx', ['postrider', '--version'], { cwd: checkout, env })
  expect(stdout).toBe(`${packageVersion()}\n`)
  expect((await stat(program)).mtimeMs).toBe(mtimeMs)
})

/** What a request carries, and the secret that the receiver has. */
interface Signed {
  secret: string
  body: Buffer
  signature: string
  id: string
  timestamp: string
  signatures: string
}

interface Language {
  /** The program that must be there. */
  program: string
  /** File of the sample. */
  file: string
  /** Further files: a program that takes the members of `Signed`, in base64, one after the other, and prints what the two functions say. */
  others: Record<string, string>
  /** Lines of the shell that run it with `"$@"`. */
  run: string
}

const languages: Record<string, Language> = {
  js: {
    program: 'node',
    file: 'hooks.mjs',
    others: {
      'main.mjs': `import { verifySignature, verifyStandardWebhook } from './hooks.mjs'
const parts = process.argv.slice(2).map((part) => Buffer.from(part, 'base64'))
for (let at = 0; at < parts.length; at += 6) {
  const [secret, body, signature, id, timestamp, signatures] = parts.slice(at, at + 6).map((part, n) => (n === 1 ? part : part.toString()))
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures }
  console.log(verifySignature(body, signature, secret), verifyStandardWebhook(body, headers, secret))
}`,
    },
    run: 'node main.mjs "$@"',
  },
  python: {
    program: 'python3',
    file: 'hooks.py',
    others: {
      'main.py': `import base64, sys
from hooks import verify_signature, verify_standard_webhook
parts = [base64.b64decode(part) for part in sys.argv[1:]]
for at in range(0, len(parts), 6):
    secret, body, *rest = parts[at:at + 6]
    signature, id, timestamp, signatures = [part.decode() for part in rest]
    headers = {"webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures}
    said = verify_signature(body, signature, secret.decode()), verify_standard_webhook(body, headers, secret.decode())
    print(*[str(one).lower() for one in said])
`,
    },
    run: 'python3 main.py "$@"',
  },
  go: {
    program: 'go',
    file: 'hooks/hooks.go',
    others: {
      'go.mod': 'module sample\n',
      'main.go': `package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"sample/hooks"
)

func main() {
	var parts []string
	for _, argument := range os.Args[1:] {
		part, _ := base64.StdEncoding.DecodeString(argument)
		parts = append(parts, string(part))
	}
	for at := 0; at < len(parts); at += 6 {
		secret, body := parts[at], []byte(parts[at+1])
		header := http.Header{}
		header.Set("webhook-id", parts[at+3])
		header.Set("webhook-timestamp", parts[at+4])
		header.Set("webhook-signature", parts[at+5])
		fmt.Println(hooks.VerifySignature(body, parts[at+2], secret), hooks.VerifyStandardWebhook(body, header, secret))
	}
}
`,
    },
    run: 'go run . "$@"',
  },
  java: {
    program: 'javac',
    file: 'Hooks.java',
    others: {
      'Main.java': `import java.nio.charset.StandardCharsets;
import java.util.*;

class Main {
    public static void main(String[] arguments) throws Exception {
        for (int at = 0; at < arguments.length; at += 6) {
            List<byte[]> parts = new ArrayList<>();
            for (String part : List.of(arguments).subList(at, at + 6)) parts.add(Base64.getDecoder().decode(part));
            String[] texts = parts.stream().map(part -> new String(part, StandardCharsets.UTF_8)).toArray(String[]::new);
            Map<String, String> headers = Map.of("webhook-id", texts[3], "webhook-timestamp", texts[4], "webhook-signature", texts[5]);
            System.out.println(Hooks.verifySignature(parts.get(1), texts[2], texts[0]) + " "
                + Hooks.verifyStandardWebhook(parts.get(1), headers, texts[0]));
        }
    }
}
`,
    },
    run: 'javac -encoding UTF-8 *.java && java Main "$@"',
  },
  ruby: {
    program: 'ruby',
    file: 'hooks.rb',
    others: {
      'main.rb': `require_relative 'hooks'
ARGV.map { |part| part.unpack1('m') }.each_slice(6) do |secret, body, signature, id, timestamp, signatures|
  headers = { 'webhook-id' => id, 'webhook-timestamp' => timestamp, 'webhook-signature' => signatures }
  puts "#{verify_signature(body, signature, secret)} #{verify_standard_webhook(body, headers, secret)}"
end
`,
    },
    run: 'ruby main.rb "$@"',
  },
  php: {
    program: 'php',
    file: 'hooks.php',
    others: {
      'main.php': `<?php
require 'hooks.php';
foreach (array_chunk(array_map('base64_decode', array_slice($argv, 1)), 6) as [$secret, $body, $signature, $id, $timestamp, $signatures]) {
    $headers = ['webhook-id' => $id, 'webhook-timestamp' => $timestamp, 'webhook-signature' => $signatures];
    echo json_encode(verify_signature($body, $signature, $secret)), ' ', json_encode(verify_standard_webhook($body, $headers, $secret)), "\\n";
}
`,
    },
    run: 'php main.php "$@"',
  },
}

const isHere = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))

/** What two functions should say of a request: of `X-Signature`, and of Standard Webhooks. */
const said = {
  authentic: 'true true',
  'authentic by X-Signature alone': 'true false',
  'authentic by Standard Webhooks alone': 'false true',
  false: 'false false',
}

/** A real request of the node to an endpoint whose destination has this secret. */
async function requestSignedWith(secret: string): Promise<Signed> {
  await using receiver = await startReceiver()
  const source = await node.createSource()
  await node.connect([source], [receiver.url], { sharedSecret: secret })
  const call = { userId: 'ü1', event: 'Käse gekauft', properties: { price: 9.5, tags: ['ö', '€'] } }
  await node.post('/track', source.writeKey, call)
  const [request] = await receiver.received(1)
  const header = (name: string): string => String(request?.headers[name])
  return {
    secret,
    body: request?.body ?? Buffer.alloc(0),
    signature: header('x-signature'),
    id: header('webhook-id'),
    timestamp: header('webhook-timestamp'),
    signatures: header('webhook-signature'),
  }
}

/** What this node signs, at another time or with further secrets. */
function signedBy(secrets: string[], at: Date): Omit<Signed, 'secret'> {
  const body = '{"type":"track"}'
  const headers = signatureHeaders({ secrets, messageId: 'm1', body, at })
  return {
    body: Buffer.from(body),
    signature: headers['X-Signature'] ?? '',
    id: headers['webhook-id'] ?? '',
    timestamp: headers['webhook-timestamp'] ?? '',
    signatures: headers['webhook-signature'] ?? '',
  }
}

async function cases(): Promise<[Signed, string][]> {
  const plain = await requestSignedWith('schlüssel €')
  const whsec = await requestSignedWith('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
  const padded = await requestSignedWith('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLQ==')
  const unpadded = await requestSignedWith('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLQ')
  const now = new Date()
  const hourAgo = new Date(now.getTime() - 3_600_000)
  const tampered = Buffer.from(plain.body.toString().replace('9.5', '0.5'))
  return [
    [plain, said.authentic],
    [whsec, said.authentic],
    [padded, said.authentic],
    [unpadded, said.authentic],
    [{ ...plain, body: tampered }, said.false],
    [{ ...plain, secret: 'another' }, said.false],
    [{ ...plain, id: 'm2' }, said['authentic by X-Signature alone']],
    [{ ...plain, timestamp: '' }, said['authentic by X-Signature alone']],
    [{ ...plain, timestamp: `${plain.timestamp}x` }, said['authentic by X-Signature alone']],
    [{ ...plain, signature: '', signatures: '' }, said.false],
    [{ ...plain, signature: 'ß' }, said['authentic by Standard Webhooks alone']],
    [{ secret: 'new', ...signedBy(['new', 'old'], now) }, said['authentic by Standard Webhooks alone']],
    [{ secret: 'old', ...signedBy(['new', 'old'], now) }, said.authentic],
    [{ secret: 'new', ...signedBy(['new'], hourAgo) }, said['authentic by X-Signature alone']],
  ]
}

describe('the sample that verifies signatures', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'postrider-samples-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  for (const [language, { program, file, others, run }] of Object.entries(languages))
    it.skipIf(!isHere(program))(`in ${language} takes what a node signs, and nothing else`, async () => {
      const place = join(folder, language)
      await mkdir(join(place, 'hooks'), { recursive: true })
      await writeFile(join(place, file), sample('verifying-signatures', language))
      for (const [name, code] of Object.entries(others)) await writeFile(join(place, name), code)
      const all = await cases()
      const parts = all.flatMap(([{ secret, body, signature, id, timestamp, signatures }]) =>
        [secret, body, signature, id, timestamp, signatures].map((part) => Buffer.from(part).toString('base64')),
      )
      const { stdout } = await promisify(execFile)('sh', ['-c', run, 'sh', ...parts], { cwd: place })
      expect(stdout.trim().split('\n')).toEqual(all.map(([, expected]) => expected))
    })
})
