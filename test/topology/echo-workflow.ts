export async function echo(text: string): Promise<string> {
  return text
}
