/** The usual theme, in the colours of the web app and with the way back to it. */

import DefaultTheme from 'vitepress/theme-without-fonts'
import { h } from 'vue'
import './style.css'

// With a target the router of the site leaves them to the browser: they are pages of the node, not of the site.
const link = (href, text) => h('a', { href, target: '_self', class: 'of-the-node' }, text)
const links = () => [link('/', 'Web app'), link('/docs', 'API reference')]

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'nav-bar-content-after': links, 'nav-screen-content-after': links }),
}
