import { expect, test } from "vitest";
import type { Ingress, IngressClass } from "../../api/meta/objects.ts";
import { setDefaultIngressClass } from "./object-defaults.ts";

function makeClass(name: string, isDefault: "true" | "false"): IngressClass {
  const annotations = { "ingressclass.kubernetes.io/is-default-class": isDefault };
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: { name, annotations, creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { controller: "example.com/a" },
  };
}

function classOf(ingress: Partial<Ingress>, classes: readonly IngressClass[]): string | undefined {
  const kind = { apiVersion: "networking.k8s.io/v1", kind: "Ingress" };
  const object: Ingress = { ...kind, metadata: { name: "a" }, spec: {}, ...ingress };
  setDefaultIngressClass(object, classes);
  return object.spec?.ingressClassName;
}

const classes = [makeClass("b", "true"), makeClass("a", "true"), makeClass("0", "false")];

test.each<[string, Partial<Ingress>, readonly IngressClass[], string | undefined]>([
  ["no default", {}, [makeClass("0", "false")], undefined],
  ["the first by name of those equally old", {}, classes, "a"],
  ["the class that the Ingress names", { spec: { ingressClassName: "x" } }, classes, "x"],
  [
    "none for the old annotation",
    { metadata: { name: "a", annotations: { "kubernetes.io/ingress.class": "x" } } },
    classes,
    undefined,
  ],
])("%s", (_, ingress, given, expected) => {
  expect(classOf(ingress, given)).toBe(expected);
});
