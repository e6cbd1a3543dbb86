import { describe, expect, test } from "vitest";
import { chooseSubnet, parseRoutes } from "./bridge-settings.ts";
import { formatSubnet, gatewayOf, macOf, parseSubnet, subnetsOverlap } from "./ipv4.ts";

const routes = `default via 192.0.2.1 dev eth0
10.88.0.0/16 dev cni0 proto kernel scope link src 10.88.0.1
blackhole 10.89.0.0/24
192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.2
10.90.0.0/16 dev kindling0 proto kernel scope link src 10.90.0.1
local 10.91.3.4 dev vpn0 table local proto kernel scope host src 10.91.3.4
broadcast 192.0.2.255 dev eth0 table local proto kernel scope link src 192.0.2.2
`;

describe("chooseSubnet", () => {
  test("takes the first range without a route, ignoring the bridge's own", () => {
    const others = parseRoutes(routes, { exceptDevice: "kindling0" });
    expect(chooseSubnet(others)).toEqual(parseSubnet("10.90.0.0/16"));
    expect(chooseSubnet(parseRoutes(routes, { exceptDevice: "other" }))).toEqual(parseSubnet("10.92.0.0/16"));
  });

  test("starts at another range for bridges of other numbers, also when the first ranges are in use", () => {
    const taken = Array.from({ length: 10 }, (_, i) => parseSubnet(`10.${88 + i}.0.0/16`));
    const chosen = Array.from({ length: 12 }, (_, number) => chooseSubnet(taken, number));
    const names = chosen.map((subnet) => formatSubnet(subnet ?? parseSubnet("0.0.0.0/0")));
    expect(new Set(names).size).toBe(12);
    expect(names.slice(0, 2)).toEqual(["10.98.0.0/16", "10.201.0.0/16"]);
  });

  test("returns nothing when all ranges are in use", () => {
    expect(chooseSubnet([parseSubnet("0.0.0.0/1"), parseSubnet("128.0.0.0/1")])).toBeUndefined();
  });
});

describe("ipv4", () => {
  test.each([
    ["10.1.2.3/8", "10.0.0.0/8"],
    ["255.255.255.255/32", "255.255.255.255/32"],
    ["192.168.1.77/26", "192.168.1.64/26"],
  ])("parses %s as %s", (text, subnet) => expect(formatSubnet(parseSubnet(text))).toBe(subnet));

  test.each(["10.0.0/8", "10.0.0.256/8", "10.0.0.0/33", "::1/64", ""])("rejects the subnet %j", (text) => {
    expect(() => parseSubnet(text)).toThrow("is not an IPv4 subnet");
  });

  test("computes overlap, gateway and MAC address", () => {
    expect(subnetsOverlap(parseSubnet("10.0.0.0/8"), parseSubnet("10.88.0.0/16"))).toBe(true);
    expect(subnetsOverlap(parseSubnet("10.89.0.0/16"), parseSubnet("10.88.0.0/16"))).toBe(false);
    expect(gatewayOf(parseSubnet("10.88.0.0/16"))).toBe("10.88.0.1");
    expect(macOf("10.88.0.255")).toBe("02:4b:0a:58:00:ff");
  });
});
