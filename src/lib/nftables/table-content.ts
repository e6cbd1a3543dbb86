/** Objects of a table that change: everything but base chains and fixed sets. */
export interface TableContent {
  /** Elements by set or map: key and value. The value is empty in sets. */
  readonly elements: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Rules by chain. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** Rules by chain, for chains that are shared. Their rules follow from their name and never change. */
  readonly shared: ReadonlyMap<string, readonly string[]>;
  /** Definitions of sets by name. */
  readonly sets: ReadonlyMap<string, string>;
}

export const emptyContent: TableContent = {
  elements: new Map(),
  chains: new Map(),
  shared: new Map(),
  sets: new Map(),
};

/** Renders commands that change a table's content from `before` to `after`. Shared chains are never removed. */
export function renderChanges(
  { family, table }: { readonly family: string; readonly table: string },
  before: TableContent,
  after: TableContent,
): string[] {
  const at = `${family} ${table}`;
  const isNew =
    <T>(known: ReadonlyMap<string, T>) =>
    ([name]: readonly [string, T]) =>
      !known.has(name);
  const removed: string[] = [];
  const added: string[] = [];
  for (const map of new Set([...before.elements.keys(), ...after.elements.keys()])) {
    const old = before.elements.get(map) ?? new Map<string, string>();
    const next = after.elements.get(map) ?? new Map<string, string>();
    const gone: string[] = [];
    const come: string[] = [];
    for (const [key, value] of old) if (next.get(key) !== value) gone.push(key);
    for (const [key, value] of next)
      if (old.get(key) !== value) come.push(value === "" ? key : `${key} : ${value}`);
    if (gone.length > 0) removed.push(`delete element ${at} ${map} { ${gone.join(", ")} }`);
    if (come.length > 0) added.push(`add element ${at} ${map} { ${come.join(", ")} }`);
  }
  const changedChains = [
    ...[...after.shared].filter(isNew(before.shared)),
    ...[...after.chains].filter(([name, rules]) => before.chains.get(name)?.join("\n") !== rules.join("\n")),
  ];
  const goneChains = [...before.chains].filter(isNew(after.chains)).map(([name]) => name);
  const goneSets = [...before.sets].filter(isNew(after.sets)).map(([name]) => name);
  return [
    ...[...after.sets]
      .filter(isNew(before.sets))
      .map(([name, definition]) => `add set ${at} ${name} { ${definition} }`),
    // All chains before all rules, because rules refer to chains.
    ...changedChains.map(([name]) => `add chain ${at} ${name}`),
    ...changedChains.map(([name]) => `flush chain ${at} ${name}`),
    ...changedChains.flatMap(([name, rules]) => rules.map((rule) => `add rule ${at} ${name} ${rule}`)),
    ...removed,
    ...added,
    ...goneChains.map((name) => `flush chain ${at} ${name}`),
    ...goneChains.map((name) => `delete chain ${at} ${name}`),
    ...goneSets.map((name) => `delete set ${at} ${name}`),
  ];
}
