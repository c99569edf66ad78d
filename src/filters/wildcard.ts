/** Names with `*` in them, which stands for any characters, also none. */

/** Compares texts with a pattern. Each piece between two stars is looked for once, from where the one before ended, so that no text
 *  takes longer than its length times that of the longest piece. */
export function wildcard(pattern: string): (text: string) => boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return (text) => text === pattern
  const between = rest.filter((piece) => piece !== '')
  return (text) => {
    const end = text.length - last.length
    if (!text.startsWith(first) || !text.endsWith(last) || end < first.length) return false
    let at = first.length
    for (const piece of between) {
      const found = text.indexOf(piece, at)
      if (found === -1) return false
      at = found + piece.length
    }
    return at <= end
  }
}
