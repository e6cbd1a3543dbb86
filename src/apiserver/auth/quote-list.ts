/** A list of strings as Go prints it: `["a" "b"]`. */
export function quoteList(list: readonly string[]): string {
  return `[${list.map((item) => JSON.stringify(item)).join(" ")}]`;
}
