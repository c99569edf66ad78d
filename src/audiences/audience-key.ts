/** The name of an audience as a trait's name: `spec/`, "Audience (personas) data". */

import deburr from 'lodash.deburr'

/** A name in snake_case: `VIP customers` → `vip_customers`, `highValueUsers` → `high_value_users`, `HTTPErrors 5xx` →
 *  `http_errors_5xx`. Latin letters lose their accents (`Café` → `cafe`), other scripts stay as they are; a digit stays
 *  with the letters before it; apostrophes join, all else that is neither letter nor digit separates.
 *  @returns an empty string when the name has neither letter nor digit */
export const audienceKey = (name: string): string =>
  deburr(withoutLatinMarks(name).normalize('NFC'))
    .replace(/(?<=[\p{L}\p{N}])['’ʼ`´](?=\p{L})/gu, '')
    .replace(/([\p{Ll}\p{N}]\p{M}*)(?=\p{Lu})/gu, '$1_')
    .replace(/(\p{Lu})(?=\p{Lu}\p{Ll})/gu, '$1_')
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '_')
    .replace(/^_+|_+$/g, '')
    .toLowerCase()

/** In Latin a mark is an accent; in other scripts it may be a vowel or make another letter. NFKD also resolves full-width
 *  letters and ligatures. */
const withoutLatinMarks = (name: string): string => name.normalize('NFKD').replace(/(\p{Script=Latin})\p{M}+/gu, '$1')
