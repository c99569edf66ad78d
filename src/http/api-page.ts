/** What the page at `/docs` has of its own: a head with the logo and the ways to the web app and the help, and examples that run. */

import type { FastifySwaggerUiOptions } from '@fastify/swagger-ui'

/** Scripts come from here alone; the page sets styles on its elements. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

const script = `
const head = document.createElement('header')
head.className = 'of-postrider'
head.innerHTML =
  '<a href="/"><img src="/favicon.svg" width="26" height="26" alt=""> Postrider</a>' +
  '<nav aria-label="Pages"><a href="/">Web app</a><a href="/help/">Help</a></nav>'
document.body.prepend(head)
`

const styles = `
.of-postrider { display: flex; justify-content: space-between; align-items: center; gap: 16px; padding: 12px 20px;
  border-bottom: 1px solid #ddd; font-family: system-ui, sans-serif; }
.of-postrider a { display: inline-flex; align-items: center; gap: 8px; color: #4c51c6; font-weight: 600; text-decoration: none; }
.of-postrider nav { display: flex; gap: 20px; }
`

/** Who is signed in to the web app is signed in here; changes need the header that only pages of this site can send. */
const sendAsWebApp = (request: Record<string, unknown>): Record<string, unknown> => {
  request['headers'] = { ...(request['headers'] as Record<string, string>), 'x-postrider-csrf': '1' }
  return request
}

export const apiPage: FastifySwaggerUiOptions = {
  routePrefix: '/docs',
  // The function is written into the page as it stands.
  uiConfig: { validatorUrl: null, layout: 'BaseLayout', tryItOutEnabled: true, requestInterceptor: sendAsWebApp },
  theme: {
    title: 'API reference · Postrider',
    js: [{ filename: 'head.js', content: script }],
    css: [{ filename: 'head.css', content: styles }],
  },
  staticCSP: true,
  transformStaticCSP: () => contentSecurityPolicy,
}
