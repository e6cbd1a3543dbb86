import { describe, expect, test } from "vitest";
import type { ConfigMap, Namespace, ServiceAccount } from "../../api/meta/objects.ts";
import { decideDefaults } from "./service-account-controller.ts";

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

describe("decideDefaults", () => {
  const cases: [string, Parameters<typeof decideDefaults>[0], string[]][] = [
    ["nothing", all, []],
    ["creates a missing account", { ...all, account: undefined }, ["createAccount"]],
    ["its CA", { ...all, rootCaMap: undefined }, ["createRootCa"]],
    ["both", { ...all, account: undefined, rootCaMap: undefined }, ["createAccount", "createRootCa"]],
    ["updates an outdated CA", { ...all, rootCa: "NEW" }, ["updateRootCa"]],
    [
      "keeps only the CA in the config map",
      { ...all, rootCaMap: { ...rootCaMap, data: { "ca.crt": "CA", more: "" } } },
      ["updateRootCa"],
    ],
    ["creates no config map without a CA", { ...all, rootCaMap: undefined, rootCa: undefined }, []],
    [
      "does nothing for a deleted namespace",
      { rootCa: "CA", namespace: undefined, account: undefined, rootCaMap: undefined },
      [],
    ],
    [
      "does nothing for a terminating namespace",
      { ...all, account: undefined, namespace: { ...namespace, status: { phase: "Terminating" } } },
      [],
    ],
  ];
  test.each(cases)("%s", (_, facts, expected) => {
    expect(decideDefaults(facts).map(({ kind }) => kind)).toEqual(expected);
  });

  test("keeps labels of the CA's config map", () => {
    expect(decideDefaults({ ...all, rootCa: "NEW" })).toMatchObject([
      { configMap: { metadata: { labels: { mine: "yes" } }, data: { "ca.crt": "NEW" } } },
    ]);
  });
});
