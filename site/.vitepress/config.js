/** The documentation that a node serves at `/help`, made of the repository's pages as they stand. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, extname, join, posix, relative, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { defineConfig } from 'vitepress'
import { sidebar } from './sidebar.js'

const repository = resolve(import.meta.dirname, '../..')
const base = '/help/'

const pagesIn = (folder) =>
  readdirSync(join(repository, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => posix.join(folder, name))

const pages = new Set([...pagesIn('.'), ...pagesIn('docs'), 'api/README.md', 'client/README.md'])

/** Places of pages whose name says little beside the others. */
const places = { 'README.md': 'index.md', 'api/README.md': 'api-client.md', 'client/README.md': 'client-library.md' }

/** Where a page of the repository stands in the site. */
const placeOf = (page) => places[page] ?? posix.basename(page).toLowerCase()

/** As git hosts make the name of a heading in a link. */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')

/** Links between files of the repository lead to pages of the site; what is no page is named without a link. */
function leadToPages(markdown) {
  markdown.core.ruler.after('inline', 'lead-to-pages', ({ tokens, env }) => {
    const folder = posix.dirname(relative(repository, env.realPath ?? env.path))
    for (const { children } of tokens) leadLinks(children ?? [], folder)
  })
}

function leadLinks(tokens, folder) {
  let isDropped = false
  for (const token of tokens) {
    if (token.type === 'link_close' && isDropped) empty(token)
    if (token.type !== 'link_open') continue
    const [path, anchor] = token.attrGet('href').split('#')
    isDropped = false
    if (path === '' || /^[a-z]+:/i.test(path)) continue
    const page = posix.join(folder, path)
    isDropped = !pages.has(page)
    if (isDropped) empty(token)
    else token.attrSet('href', `/${placeOf(page)}${anchor === undefined ? '' : `#${anchor}`}`)
  }
}

/** Code that is set in looks like code between fences. */
function fenceCode(markdown) {
  markdown.core.ruler.after('block', 'fence-code', ({ tokens }) => {
    for (const token of tokens)
      if (token.type === 'code_block') Object.assign(token, { type: 'fence', info: 'text', markup: '```' })
  })
}

const empty = (token) => Object.assign(token, { type: 'text', content: '', nesting: 0 })

/** The content security policy of the node allows no script within a page: each gets a file of its own. */
function scriptsApart(html, _file, { siteConfig: { outDir } }) {
  return html.replaceAll(/<script id="([\w-]+)">(.*?)<\/script>/gs, (_, id, script) => {
    mkdirSync(outDir, { recursive: true })
    writeFileSync(join(outDir, `${id}.js`), script)
    return `<script src="${base}${id}.js"></script>`
  })
}

/** The node sends what is compressed already. */
function compress({ outDir }) {
  for (const file of readdirSync(outDir, { recursive: true }))
    if (['.html', '.js', '.css', '.svg'].includes(extname(file)))
      writeFileSync(join(outDir, `${file}.gz`), gzipSync(readFileSync(join(outDir, file)), { level: 9 }))
}

export default defineConfig({
  lang: 'en',
  title: 'Postrider',
  description: 'Event delivery to HTTP endpoints',
  base,
  cleanUrls: true,
  srcDir: repository,
  srcExclude: ['!(api|client|docs)/**/*', '@(api|client)/!(README.md)', '@(api|client)/*/**'],
  ignoreDeadLinks: 'localhostLinks',
  outDir: join(dirname(import.meta.dirname), 'dist'),
  cacheDir: join(repository, 'node_modules/.cache/site'),
  metaChunk: true,
  rewrites: placeOf,
  head: [['link', { rel: 'icon', href: `${base}favicon.svg`, type: 'image/svg+xml' }]],
  markdown: {
    anchor: { slugify },
    config(markdown) {
      leadToPages(markdown)
      fenceCode(markdown)
    },
  },
  // The logo is that of the web app.
  vite: { publicDir: 'web/public' },
  themeConfig: {
    logo: '/favicon.svg',
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
  },
  transformHtml: scriptsApart,
  buildEnd: compress,
})
