import type { KubeObject } from "../../../api/meta/objects.ts";
import { testRefusals } from "./node-restriction.fixture.ts";

const reference = { apiVersion: "v1", kind: "Pod", name: "p", uid: "p-uid" };
const request = (boundObjectRef: object | undefined, audiences: string[] = ["vault"]) => ({
  resource: "serviceaccounts",
  subresource: "token",
  name: "sa",
  object: { spec: { boundObjectRef, audiences } } as unknown as KubeObject,
});
testRefusals('serviceaccounts "sa" is forbidden: ', [
  ["for its own pod", request(reference), undefined],
  ["for the API", request(reference, []), undefined],
  ["for an audience that it was granted", request(reference, ["granted"]), undefined],
  [
    "for another audience",
    request(reference, ["bank"]),
    'audience "bank" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience',
  ],
  ["for two audiences", request(reference, ["vault", "bank"]), "node may only request 0 or 1 audiences"],
  ["for no pod", request(undefined), "node requested token not bound to a pod"],
  ["for a secret", request({ ...reference, kind: "Secret" }), "node requested token not bound to a pod"],
  [
    "for itself",
    request({ ...reference, kind: "Node", name: "n1" }),
    "node requested token not bound to a pod",
  ],
  [
    "without a uid",
    request({ ...reference, uid: "" }),
    "node requested token with a pod binding without a uid",
  ],
  [
    "for an earlier pod",
    request({ ...reference, uid: "old" }),
    "the UID in the bound object reference (old) does not match the UID in record. The object might have been deleted and then recreated",
  ],
  [
    "for a pod elsewhere",
    request({ ...reference, name: "other" }),
    "node requested token bound to a pod scheduled on a different node",
  ],
]);
