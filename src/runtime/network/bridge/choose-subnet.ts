import { parseAddress, parseSubnet, type Subnet, subnetsOverlap } from "./ipv4.ts";

/** Far enough that the first choices of one bridge, some of them taken, are not those of the next. */
const rangesApart = 113;

/**
 * The first private range for pods that no route of this machine leads to. Bridges of different numbers begin their
 * search at different ranges: two daemons that start at the same time do not take the same.
 */
export function chooseSubnet(routes: readonly Subnet[], bridgeNumber = 0): Subnet | undefined {
  const tens = Array.from({ length: 168 }, (_, i) => `10.${88 + i}.0.0/16`);
  const others = Array.from({ length: 16 }, (_, i) => `172.${16 + i}.0.0/16`);
  const all = [...tens, ...others];
  const first = (bridgeNumber * rangesApart) % all.length;
  return [...all.slice(first), ...all.slice(0, first)]
    .map(parseSubnet)
    .find((candidate) => !routes.some((route) => subnetsOverlap(route, candidate)));
}

/**
 * The destinations in `ip -4 route show table all`, without the default route and those by way of `exceptDevice`.
 * Lines begin with an address or subnet, some with a type before it.
 */
export function parseRoutes(text: string, { exceptDevice }: { exceptDevice: string }): readonly Subnet[] {
  return text.split("\n").flatMap((line) => {
    const words = line.trim().split(/\s+/);
    if (words[words.indexOf("dev") + 1] === exceptDevice && words.includes("dev")) return [];
    const destination = words
      .slice(0, 2)
      .find((word) => parseAddress(word.split("/")[0] ?? "") !== undefined);
    return destination && !destination.endsWith("/0") ? [parseSubnet(destination)] : [];
  });
}
