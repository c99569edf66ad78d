import type { SpotlightActionData, SpotlightActionGroupData } from '@mantine/spotlight'

/** Rows of the palette that fit what is typed: by their names first, then by what else they are found by. */
export function fitting(groups: readonly SpotlightActionGroupData[], typed: string): SpotlightActionGroupData[] {
  const wanted = typed.toLowerCase()
  const has = (text = ''): boolean => text.toLowerCase().includes(wanted)
  const rank = ({ label, description, keywords = [] }: SpotlightActionData): number => {
    if (has(label)) return 0
    return has(description) || [keywords].flat().some(has) ? 1 : 2
  }
  return groups
    .map(({ group, actions }) => {
      const ranked = actions.map((action) => ({ action, rank: rank(action) })).filter((one) => one.rank < 2)
      ranked.sort((one, other) => one.rank - other.rank)
      return { group, actions: ranked.map(({ action }) => action), best: ranked[0]?.rank ?? 2 }
    })
    .filter(({ best }) => best < 2)
    .sort((one, other) => one.best - other.best)
}
