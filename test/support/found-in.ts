/** Looks for texts in bytes, whatever form they have there. */

/** The forms in which a text may stand in a file: as it is, in UTF-16, in hexadecimal digits, and in base64 wherever it begins. */
function formsOf(text: string): Buffer[] {
  const bytes = Buffer.from(text)
  const base64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    // What also depends on the bytes around it is left out.
    return Buffer.from(encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6)))
  })
  const hex = bytes.toString('hex')
  return [bytes, Buffer.from(text, 'utf16le'), ...base64, Buffer.from(hex), Buffer.from(hex.toUpperCase())]
}

/** Those of some texts that stand in a file in one of these forms. */
export const foundIn = (file: Buffer, texts: readonly string[]): string[] =>
  texts.filter((text) => formsOf(text).some((form) => file.includes(form)))
