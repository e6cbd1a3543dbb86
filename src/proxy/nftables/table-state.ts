import { renderChanges, type TableContent } from "../../lib/nftables/table-content.ts";
import type { ServicePort } from "../model/service-port.ts";
import { contestedMaps, maxEndpoints, renderPorts } from "./render-port.ts";
import { renderTable, type TableOptions } from "./render-table.ts";

/** Commands for one table, and what to remember when they have succeeded. */
interface TableUpdate {
  readonly commands: readonly string[];
  commit(): void;
}

/** Last written content of one table. Renders commands that lead to the next state. */
export interface TableState {
  /** Replaces everything. */
  replace(state: ReadonlyMap<string, readonly ServicePort[]>): TableUpdate;
  /** Changes the given services only. Those without ports are removed. */
  change(services: Iterable<string>, state: ReadonlyMap<string, readonly ServicePort[]>): TableUpdate;
}

type Elements = Map<string, Map<string, string>>;

/** Values of contested elements by `map key` and service. The first service keeps the element. */
type Contested = Map<string, Map<string, string>>;

/** Number of endpoints that a new table is prepared for. It is doubled as needed, by replacing the table. */
const firstMaxEndpoints = 16;

export function createTableState(options: TableOptions): TableState {
  const family = options.family === "ip" ? "IPv4" : "IPv6";
  const render = (ports: readonly ServicePort[]) =>
    renderPorts(
      ports.filter((port) => port.family === family),
      options,
    );
  // Ports are kept instead of rendered elements, which take several times the memory.
  let applied = new Map<string, readonly ServicePort[]>();
  let contested: Contested = new Map();
  const shared = new Map<string, readonly string[]>();

  let capacity = firstMaxEndpoints;

  function replace(state: ReadonlyMap<string, readonly ServicePort[]>): TableUpdate {
    const claims: Contested = new Map();
    const all = createMerge();
    let needed = capacity;
    for (const [service, ports] of state) {
      while (needed < maxEndpoints(ports)) needed *= 2;
      const rendered = render(ports);
      claim(claims, service, rendered);
      all.add(rendered);
    }
    const winners = winnersOf(claims, claims.keys());
    const commands = renderTable(options, needed, all.merged(winners));
    return {
      commands,
      commit() {
        applied = new Map(state);
        contested = claims;
        capacity = needed;
        shared.clear();
        for (const [name, rules] of all.shared) shared.set(name, rules);
      },
    };
  }

  return {
    replace,
    change(services, state) {
      const news = [...services].map((service) => [service, state.get(service) ?? []] as const);
      if (news.some(([, ports]) => maxEndpoints(ports) > capacity)) return replace(state);
      const before = createMerge();
      const after = createMerge();
      const touched = new Set<string>();
      const steps = news.map(([service, ports]) => {
        const old = render(applied.get(service) ?? []);
        const next = render(ports);
        before.add(old);
        after.add(next);
        for (const rendered of [old, next]) for (const key of contestedKeys(rendered)) touched.add(key);
        return { service, ports, old, next };
      });
      const held = winnersOf(contested, touched);
      const claims: Contested = new Map();
      for (const key of touched) claims.set(key, new Map(contested.get(key)));
      for (const { service, old } of steps)
        for (const key of contestedKeys(old)) claims.get(key)?.delete(service);
      for (const { service, next } of steps) claim(claims, service, next);
      const winners = winnersOf(claims, touched);
      const commands = renderChanges(options, { ...before.merged(held), shared }, after.merged(winners));
      return {
        commands,
        commit() {
          for (const { service, ports } of steps)
            if (ports.length > 0) applied.set(service, ports);
            else applied.delete(service);
          for (const [key, owners] of claims)
            if (owners.size > 0) contested.set(key, owners);
            else contested.delete(key);
          for (const [name, rules] of after.shared) shared.set(name, rules);
        },
      };
    },
  };
}

function contestedKeys({ elements }: TableContent): string[] {
  return [...contestedMaps].flatMap((map) =>
    [...(elements.get(map)?.keys() ?? [])].map((key) => `${map} ${key}`),
  );
}

function claim(claims: Contested, service: string, { elements }: TableContent): void {
  for (const map of contestedMaps)
    for (const [key, value] of elements.get(map) ?? []) {
      const owners = claims.get(`${map} ${key}`);
      if (owners) owners.set(service, value);
      else claims.set(`${map} ${key}`, new Map([[service, value]]));
    }
}

function winnersOf(claims: Contested, keys: Iterable<string>): Elements {
  const elements: Elements = new Map();
  for (const name of keys) {
    const [value] = claims.get(name)?.values() ?? [];
    if (value === undefined) continue;
    const space = name.indexOf(" ");
    const map = name.slice(0, space);
    const known = elements.get(map) ?? new Map<string, string>();
    known.set(name.slice(space + 1), value);
    elements.set(map, known);
  }
  return elements;
}

/** Joins what several services render, without the contested elements. */
function createMerge() {
  const elements: Elements = new Map();
  const chains = new Map<string, readonly string[]>();
  const shared = new Map<string, readonly string[]>();
  const sets = new Map<string, string>();
  return {
    shared,
    add(rendered: TableContent) {
      for (const [map, entries] of rendered.elements) {
        if (contestedMaps.has(map)) continue;
        const known = elements.get(map) ?? new Map<string, string>();
        elements.set(map, known);
        for (const [key, value] of entries) if (!known.has(key)) known.set(key, value);
      }
      for (const [name, rules] of rendered.chains) chains.set(name, rules);
      for (const [name, rules] of rendered.shared) shared.set(name, rules);
      for (const [name, definition] of rendered.sets) sets.set(name, definition);
    },
    merged: (contested: Elements): TableContent => ({
      elements: new Map([...elements, ...contested]),
      chains,
      shared,
      sets,
    }),
  };
}
