import { expect, it } from 'vitest'
import { audienceKey } from '../../src/audiences/audience-key.ts'

it.each([
  ['VIP customers', 'vip_customers'],
  ['highValueUsers', 'high_value_users'],
  ['HTTPErrors', 'http_errors'],
  ['Buyers2024', 'buyers2024'],
  ['Top10Users', 'top10_users'],
  ['Top 10 %', 'top_10'],
  ['  --Lapsed __ / users--  ', 'lapsed_users'],
  ["Children's toys", 'childrens_toys'],
  ['Children’s toys', 'childrens_toys'],
  ['Café Gäste', 'cafe_gaste'],
  ['Cafe\u0301', 'cafe'],
  ['Straße', 'strasse'],
  ['Łódź Ørsted Æther', 'lodz_orsted_aether'],
  ['ＶＩＰ', 'vip'],
  ['Новые Пользователи', 'новые_пользователи'],
  ['ЙодЁлка', 'йод_ёлка'],
  ['新規ユーザー（東京）', '新規ユーザー_東京'],
  ['हिन्दी उपयोगकर्ता', 'हिन्दी_उपयोगकर्ता'],
  ['مستخدمون ٢٠٢٤', 'مستخدمون_٢٠٢٤'],
  ['Ελληνικά', 'ελληνικά'],
  ['A/B test: variant-B', 'a_b_test_variant_b'],
  ['iOS users', 'i_os_users'],
  ['user_id', 'user_id'],
  ['already_snake_case', 'already_snake_case'],
  ['🎉!!!', ''],
])('turns %j into %j', (name, key) => {
  expect(audienceKey(name)).toBe(key)
})

it('is stable: the key of a key is the key', () => {
  for (const name of ['VIP customers', 'Café Gäste', 'Новые Пользователи', '新規ユーザー（東京）', 'हिन्दी उपयोगकर्ता'])
    expect(audienceKey(audienceKey(name))).toBe(audienceKey(name))
})
