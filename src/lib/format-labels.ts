/** `stage="init",namespace="shop"`: labels as both formats write them, without the braces. */
export function formatLabels(labels: Readonly<Record<string, string>>): string {
  let text = "";
  for (const name in labels) {
    text += `${text === "" ? "" : ","}${name}="${escapeValue(labels[name] ?? "")}"`;
  }
  return text;
}

const special = /[\\"\n]/;

function escapeValue(value: string): string {
  if (!special.test(value)) return value;
  return value.replace(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));
}
