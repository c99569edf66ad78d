/** Examples below the help of each command: by its words, without the program's name. A group shows those of its own. */

export const examples: Record<string, readonly string[]> = {
  start: ['start', 'PORT=9000 postrider start', 'start --json'],
  migrate: ['migrate', 'DATABASE_URL=postgres://postrider@db/postrider postrider migrate --json'],
  'keys show': ['keys show', 'keys show --json'],
  'keys rotate': ['keys rotate', 'keys rotate --yes --json'],
  doctor: ['doctor', 'doctor --profile production --json'],
  login: [
    'login',
    'login --profile production --address https://postrider.example.com',
    'login --profile ci --address https://postrider.example.com < token.txt',
  ],
  'profiles list': ['profiles list'],
  'profiles use': ['profiles use production'],
  'profiles remove': ['profiles remove production'],
  send: [
    'send track --source Website --user-id u1 --event "Order Completed" --properties \'{"total":12.5}\'',
    'send identify --write-key "$KEY" --user-id u1 --traits \'{"plan":"pro"}\' --no-wait',
    'send track --source Website --data call.json --json',
  ],
  listen: ['listen Website', 'listen Website --forward-to http://localhost:3000/hooks', 'listen Website --json'],
  'sources list': ['sources list', 'sources list --json'],
  'sources show': ['sources show Website'],
  'sources create': ['sources create Website'],
  'sources update': ['sources update Website --off', 'sources update Website --name "Web shop"'],
  'sources rotate-key': ['sources rotate-key Website --overlap 24h', 'sources rotate-key Website --yes'],
  'sources end-previous-keys': ['sources end-previous-keys Website'],
  'sources delete': ['sources delete Website'],
  'destinations list': ['destinations list'],
  'destinations show': ['destinations show CRM'],
  'destinations create': [
    'destinations create CRM --source Website --url https://crm.example.com/hook --secret-env CRM_SECRET',
    'destinations create CRM --url https://crm.example.com/hook --header "X-Tenant: a1" --off',
  ],
  'destinations update': [
    'destinations update CRM --url https://crm.example.com/v2/hook',
    'destinations update CRM --source Website --source App --success-policy all',
    'destinations update CRM --on-failing hold --hold-after 10m',
  ],
  'destinations pause': ['destinations pause CRM'],
  'destinations resume': ['destinations resume CRM'],
  'destinations enable': ['destinations enable CRM'],
  'destinations disable': ['destinations disable CRM'],
  'destinations test': ['destinations test CRM', 'destinations test CRM --type identify'],
  'destinations rehearse': [
    'destinations rehearse CRM --filter orders.yaml',
    'destinations rehearse CRM --mapping ads.yaml',
  ],
  'destinations delete': ['destinations delete CRM'],
  'deliveries list': ['deliveries list --status failed --since 2h', 'deliveries list --user-id u1 --limit 200 --json'],
  'deliveries count': ['deliveries count --status held --destination CRM'],
  'deliveries show': ['deliveries show event/src_1/msg_1', 'deliveries show event/src_1/msg_1 --headers'],
  'deliveries tail': ['deliveries tail --source Website', 'deliveries tail --status failed --json'],
  'deliveries retry': [
    'deliveries retry event/src_1/msg_1',
    'deliveries retry --status retrying --destination CRM --why "receiver was fixed"',
  ],
  'deliveries redeliver': [
    'deliveries redeliver event/src_1/msg_1',
    'deliveries redeliver --destination CRM --status failed --since 1d --yes',
  ],
  'deliveries cancel': ['deliveries cancel event/src_1/msg_1', 'deliveries cancel --status held --destination CRM'],
  'audiences list': ['audiences list'],
  'audiences show': ['audiences show "Big spenders"'],
  'audiences create': [
    'audiences create "Big spenders" --destination CRM',
    'audiences create Churning --destination CRM --from-url https://data.example.com/churning.csv --cron "0 6 * * *"',
    'audiences create Churning --destination CRM --from-sql query.sql --connection-env WAREHOUSE_URL --every 6h',
  ],
  'audiences upload': [
    'audiences upload "Big spenders" members.csv',
    'audiences upload "Big spenders" - --format ndjson',
  ],
  'audiences preview': ['audiences preview "Big spenders" members.csv', 'audiences preview Churning'],
  'audiences sync': ['audiences sync Churning'],
  'audiences resync': ['audiences resync Churning'],
  'audiences undo': ['audiences undo "Big spenders"'],
  'audiences confirm': ['audiences confirm "Big spenders"'],
  'audiences stop': ['audiences stop Churning'],
  'audiences syncs': ['audiences syncs Churning'],
  'audiences pause': ['audiences pause Churning'],
  'audiences resume': ['audiences resume Churning'],
  'audiences delete': ['audiences delete Churning --notify'],
  'audiences update': [
    'audiences update Churning --every 12h',
    'audiences update Churning --destination CRM --name Leaving --keep-key',
  ],
  status: ['status', 'status --json'],
  'alerts list': ['alerts list'],
  'alerts mute': ['alerts mute alert_1 2h', 'alerts mute alert_1 0s'],
  'alerts rules': [
    'alerts rules',
    'alerts rules --endpoint-failing 10m --no-inbox-old',
    'alerts rules --endpoint-failed-percent 20 --endpoint-failed-minutes 15 --preview',
  ],
  'alerts channels': ['alerts channels'],
  'alerts add-channel': [
    'alerts add-channel Slack --kind slack --url-env SLACK_URL --app-url https://postrider.example.com',
    'alerts add-channel Ops --kind email --url-env MAIL --from postrider@example.com --to ops@example.com',
  ],
  'alerts update-channel': [
    'alerts update-channel Ops --to ops@example.com --to nights@example.com',
    'alerts update-channel Slack --url-env SLACK_URL --no-app-url',
  ],
  'alerts test-channel': ['alerts test-channel Ops'],
  'alerts remove-channel': ['alerts remove-channel Ops'],
  'tokens list': ['tokens list'],
  'tokens create': ['tokens create CI --role admin', 'tokens create Dashboard'],
  'tokens revoke': ['tokens revoke CI'],
  'audit-log': ['audit-log --since 1d', 'audit-log --subject destinations --actor admin --json'],
  'deletion-requests list': ['deletion-requests list'],
  'deletion-requests show': ['deletion-requests show del_1'],
  'deletion-requests create': [
    'deletion-requests create user-1 user-2',
    'deletion-requests create user-1 --suppress --yes',
  ],
  'deletion-requests lift': ['deletion-requests lift user-1', 'deletion-requests lift user-1 --source Website'],
  export: ['export > postrider.yaml', 'export --output postrider.json'],
  apply: ['apply postrider.yaml --dry-run', 'apply postrider.yaml --yes', 'apply postrider.yaml --prune'],
  complete: [
    'complete bash > ~/.local/share/bash-completion/completions/postrider',
    'complete zsh > "${fpath[1]}/_postrider"',
    'complete fish > ~/.config/fish/completions/postrider.fish',
  ],
}

/** The examples of a command, or the first ones of each command of a group. */
export function examplesOf(words: string): string[] {
  const own = examples[words]
  const lines =
    own ?? Object.entries(examples).flatMap(([name, [first]]) => (name.startsWith(`${words} `) && first ? [first] : []))
  return lines.map((line) => (line.includes('postrider ') ? `$ ${line}` : `$ postrider ${line}`))
}
