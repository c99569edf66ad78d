import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { compression } from 'vite-plugin-compression2'

/** Where `npm start` listens: `npm run dev -w web` shows the sources in front of it. */
const server = 'http://127.0.0.1:8080'

/** Large, and not needed to show a page: the calendar, the chart and the palette. */
const seldom = /@mantine\/(dates|spotlight)|dayjs|uplot/

export default defineConfig({
  plugins: [react(), compression({ algorithms: ['gzip', 'brotliCompress'], skipIfLargerOrEqual: true })],
  build: {
    target: 'es2023',
    sourcemap: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The files are compressed once, by the plugin above.
    reportCompressedSize: false,
    // Of the thousands of icons in one module, only those that are used are read.
    rolldownOptions: {
      experimental: { lazyBarrel: true },
      // A browser has six connections to the server: what several pages share comes in few files instead of dozens.
      output: {
        codeSplitting: {
          groups: [{ name: 'shared', minShareCount: 4, test: (id) => !seldom.test(id) }],
        },
      },
    },
  },
  server: { proxy: { '/api': server, '/openapi.json': server, '/docs': server, '/help': server } },
})
