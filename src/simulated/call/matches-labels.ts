/** Whether an object has every label that a filter names. */
export function matchesLabels(
  labels: Readonly<Record<string, string>>,
  selector: Readonly<Record<string, string>>,
): boolean {
  for (const key in selector) if (labels[key] !== selector[key]) return false;
  return true;
}
