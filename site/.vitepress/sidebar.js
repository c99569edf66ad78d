/** All pages in the order of a reader's way. */

/** @type {(text: string, pages: Record<string, string>) => { text: string, items: { text: string, link: string }[] }} */
const group = (text, pages) => ({ text, items: Object.entries(pages).map(([title, link]) => ({ text: title, link })) })

export const sidebar = [
  group('Begin', {
    'First event in a minute': '/',
    'From an event to your endpoint': '/quickstart',
    'Moving from Segment': '/moving-from-segment',
    'The words': '/words',
  }),
  group('Send', {
    'Sending events': '/ingest',
    'The client library': '/client-library',
  }),
  group('Receive', {
    'Verifying signatures': '/verifying-signatures',
    'Ordering and repeats': '/ordering-and-repeats',
    'How events are delivered': '/delivery',
  }),
  group('Choose and shape', {
    Filters: '/filters',
    Mapping: '/mapping',
    Audiences: '/audiences',
  }),
  group('Tools', {
    'The command': '/command',
    'The API by example': '/api',
    'The client of the API': '/api-client',
    Errors: '/errors',
  }),
  group('Run', {
    'Running it for real': '/deployment',
    Settings: '/configuration',
    Operations: '/operations',
    Scaling: '/scaling',
    Upgrading: '/upgrading',
    Alerts: '/alerts',
    Metrics: '/metrics',
    Logs: '/logs',
    Traces: '/tracing',
    Privacy: '/privacy',
    Security: '/security',
  }),
  group('Behind it', {
    Architecture: '/architecture',
    Performance: '/performance',
    'Performance notebook': '/performance-notebook',
    'Performance of syncs': '/performance-audiences',
    'What a node survives': '/chaos',
    Contributing: '/contributing',
    Changelog: '/changelog',
  }),
]
