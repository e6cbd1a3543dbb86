import { describe, expect, test } from "vitest";
import type { ConfigMap, Namespace, ServiceAccount } from "../../api/objects.ts";
import { decideDefaults } from "./decide-defaults.ts";

const namespace: Namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } };
const account: ServiceAccount = {
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name: "default", namespace: "team" },
};
const rootCaMap: ConfigMap = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "kube-root-ca.crt", namespace: "team", labels: { mine: "yes" } },
  data: { "ca.crt": "CA" },
};
const all = { namespace, account, rootCaMap, rootCa: "CA" };

describe("what a namespace lacks", () => {
  const cases: [string, Parameters<typeof decideDefaults>[0], string[]][] = [
    ["nothing", all, []],
    ["its account", { ...all, account: undefined }, ["createAccount"]],
    ["its CA", { ...all, rootCaMap: undefined }, ["createRootCa"]],
    ["both", { ...all, account: undefined, rootCaMap: undefined }, ["createAccount", "createRootCa"]],
    ["the right CA", { ...all, rootCa: "NEW" }, ["updateRootCa"]],
    [
      "only the CA",
      { ...all, rootCaMap: { ...rootCaMap, data: { "ca.crt": "CA", more: "" } } },
      ["updateRootCa"],
    ],
    ["a CA that nobody knows", { ...all, rootCaMap: undefined, rootCa: undefined }, []],
    [
      "anything, when it is gone",
      { rootCa: "CA", namespace: undefined, account: undefined, rootCaMap: undefined },
      [],
    ],
    [
      "anything, when it goes",
      { ...all, account: undefined, namespace: { ...namespace, status: { phase: "Terminating" } } },
      [],
    ],
  ];
  test.each(cases)("%s", (_, facts, expected) => {
    expect(decideDefaults(facts).map(({ kind }) => kind)).toEqual(expected);
  });

  test("labels that somebody put on the CA stay", () => {
    expect(decideDefaults({ ...all, rootCa: "NEW" })).toMatchObject([
      { configMap: { metadata: { labels: { mine: "yes" } }, data: { "ca.crt": "NEW" } } },
    ]);
  });
});
