import { describe, expect, test } from "vitest";
import type { Pod } from "../../../api/meta/objects.ts";
import { message, owner, pod, testRefusals } from "./node-restriction.fixture.ts";

const mirrorFacts = { annotations: { "kubernetes.io/config.mirror": "x" }, ownerReferences: [owner] };
const mirror = (spec: object = {}, metadata: object = {}) => pod("n1", spec, { ...mirrorFacts, ...metadata });
describe("mirror pods", () => {
  const owned = (more: object) => mirror({}, { ownerReferences: [{ ...owner, ...more }] });
  const volume = (source: object) => ({ object: mirror({ volumes: [{ name: "v", ...source }] }) });
  testRefusals('pods "p" is forbidden: ', [
    [
      "a proper one",
      {
        object: mirror({
          volumes: [
            { name: "v", hostPath: { path: "/" } },
            { name: "w", projected: { sources: [{ downwardAPI: {} }] } },
          ],
        }),
      },
      undefined,
    ],
    [
      "no mirror",
      { object: pod("n1") },
      'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods',
    ],
    [
      "nothing",
      {},
      'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods',
    ],
    [
      "on another node",
      { object: pod("n2", {}, mirrorFacts) },
      'node "n1" can only create pods with spec.nodeName set to itself',
    ],
    [
      "without an owner",
      { object: mirror({}, { ownerReferences: [] }) },
      'node "n1" can only create pods with an owner reference set to itself',
    ],
    [
      "with two owners",
      { object: mirror({}, { ownerReferences: [owner, owner] }) },
      'node "n1" can only create pods with a single owner reference set to itself',
    ],
    [
      "owned by another",
      { object: owned({ name: "n2" }) },
      'node "n1" can only create pods with an owner reference set to itself',
    ],
    [
      "owned by no controller",
      { object: owned({ controller: false }) },
      'node "n1" can only create pods with a controller owner reference set to itself',
    ],
    [
      "blocking the owner's deletion",
      { object: owned({ blockOwnerDeletion: true }) },
      'node "n1" must not set blockOwnerDeletion on an owner reference',
    ],
    [
      "owned by an earlier node",
      { object: owned({ uid: "old" }) },
      "node n1 UID mismatch: expected old got n1-uid",
    ],
    [
      "with a service account",
      { object: mirror({ serviceAccountName: "sa" }) },
      'node "n1" can not create pods that reference serviceaccounts',
    ],
    [
      "with a secret in its environment",
      { object: mirror({ containers: [{ name: "c", envFrom: [{ secretRef: { name: "s" } }] }] }) },
      'node "n1" can not create pods that reference secrets',
    ],
    [
      "with a secret volume without a name",
      volume({ secret: {} }),
      'node "n1" can not create pods that reference secrets (via secret volumes)',
    ],
    [
      "with a claim",
      volume({ persistentVolumeClaim: { claimName: "c" } }),
      'node "n1" can not create pods that reference persistentvolumeclaims',
    ],
    [
      "with an ephemeral volume",
      volume({ ephemeral: {} }),
      'node "n1" can not create pods that reference persistentvolumeclaims (via ephemeral volumes)',
    ],
    [
      "with a token",
      volume({ projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }),
      'node "n1" can not create pods that reference serviceaccounts (via projected volumes)',
    ],
    [
      "with a resource claim",
      { object: mirror({ resourceClaims: [{ name: "c" }] }) },
      'node "n1" can not create pods that reference resourceclaims',
    ],
    [
      "with a volume of no known kind",
      volume({ constructor: {} }),
      "error checking mirror pod for API references: unknown volume type",
    ],
    [
      "an update",
      { operation: "UPDATE", object: mirror() },
      'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods',
    ],
    ["delete its own", { operation: "DELETE" }, undefined],
  ]);

  test("of other nodes cannot be deleted, and missing ones return 404", () => {
    expect(message({ operation: "DELETE", name: "other" })).toBe(
      'pods "other" is forbidden: node "n1" can only delete pods with spec.nodeName set to itself',
    );
    expect(message({ operation: "DELETE", name: "none" })).toBe('pods "none" not found');
  });
});

describe("status and eviction of pods", () => {
  const status = { operation: "UPDATE", subresource: "status", oldObject: pod("n1") } as const;
  const claims = { resourceClaimStatuses: [{ name: "x" }] };
  testRefusals('pods "p" is forbidden: ', [
    [
      "its own status",
      { ...status, object: { ...pod("n1"), status: { phase: "Running" } } as Pod },
      undefined,
    ],
    [
      "another's status",
      { ...status, object: pod("n1"), oldObject: pod("n2") },
      'node "n1" can only update pod status for pods with spec.nodeName set to itself',
    ],
    [
      "labels through status",
      { ...status, object: pod("n1", {}, { labels: { a: "b" } }) },
      'node "n1" cannot update labels through pod status',
    ],
    [
      "resource claims through status",
      { ...status, object: { ...pod("n1"), status: claims } as Pod },
      'node "n1" cannot update resource claim statues',
    ],
    ["create a status", { ...status, operation: "CREATE" }, 'unexpected operation "CREATE"'],
    ["evict its own", { subresource: "eviction" }, undefined],
    [
      "bind",
      { subresource: "binding" },
      "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed",
    ],
    [
      "add ephemeral containers",
      { subresource: "ephemeralcontainers" },
      "unexpected pod subresource \"ephemeralcontainers\", only 'status' and 'eviction' are allowed",
    ],
  ]);

  test("a node cannot evict pods of other nodes", () => {
    expect(message({ subresource: "eviction", name: "other" })).toBe(
      'pods "other" is forbidden: node n1 can only evict pods with spec.nodeName set to itself',
    );
    expect(message({ subresource: "eviction", name: "" })).toBe(
      'pods "Unknown" is forbidden: could not determine pod from request data',
    );
  });
});
