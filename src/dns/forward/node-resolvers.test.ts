import { expect, test } from "vitest";
import { selectServers } from "./node-resolvers.ts";

test.each<[name: string, text: string, hosts: string[]]>([
  ["all servers", "nameserver 192.0.2.1\nnameserver 2001:db8::1\n", ["192.0.2.1", "2001:db8::1"]],
  ["without this server", "nameserver 10.96.0.10\nnameserver 192.0.2.1\n", ["192.0.2.1"]],
  ["without text that is no address", "nameserver ns.example\n", []],
  [
    "at most three",
    [1, 2, 3, 4].map((i) => `nameserver 192.0.2.${i}`).join("\n"),
    ["192.0.2.1", "192.0.2.2", "192.0.2.3"],
  ],
])("selectServers: %s", (_name, text, hosts) => {
  expect(selectServers(text, ["10.96.0.10"]).map(({ host }) => host)).toEqual(hosts);
});
