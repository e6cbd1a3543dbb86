import { describe, expect, test } from "vitest";
import { deniedBy, readReview } from "./admission-review.ts";

const review = (response: unknown, parts: object = {}) => ({
  kind: "AdmissionReview",
  apiVersion: "admission.k8s.io/v1",
  response,
  ...parts,
});
const patch = Buffer.from('[{"op":"remove","path":"/a"}]').toString("base64");
const mutating = { uid: "1", version: "v1", mutating: true } as const;
const validating = { ...mutating, mutating: false };

describe("readReview", () => {
  test.each([
    [null, "webhook response was absent"],
    [review(undefined), "webhook response was absent"],
    [review({ uid: "2" }), 'expected response.uid="1", got "2"'],
    [
      review({ uid: "1" }, { apiVersion: "v1", kind: "Pod" }),
      "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /v1, Kind=Pod",
    ],
    [review({ uid: "1", patch }), "webhook returned response.patch but not response.patchType"],
    [
      review({ uid: "1", patchType: "JSONPatch" }),
      "webhook returned response.patchType but not response.patch",
    ],
    [review({ uid: "1", patch, patchType: "Other" }), 'unsupported patch type "Other"'],
    [
      review({ uid: "1", patch: "e30=", patchType: "JSONPatch" }),
      "received undecodable patch in webhook response",
    ],
  ])("%j is rejected", (answer, message) => {
    expect(() => readReview(answer, mutating)).toThrow(message);
  });

  test.each([
    [{ patch }, "validating webhook may not return response.patch"],
    [{ patchType: "JSONPatch" }, "validating webhook may not return response.patchType"],
  ])("a validating webhook may not return %j", (response, message) => {
    expect(() => readReview(review({ uid: "1", ...response }), validating)).toThrow(message);
  });

  test("a hostile response is read as far as it is valid", () => {
    const response = { uid: "1", allowed: "true", warnings: ["a", 1, null], status: [] };
    expect(readReview(review(response), mutating)).toMatchObject({ allowed: false, warnings: ["a"] });
  });

  test("version v1beta1 needs neither uid nor kind", () => {
    const read = readReview({ response: { allowed: true, patch } }, { ...mutating, version: "v1beta1" });
    expect(read).toMatchObject({ allowed: true, patch: [{ op: "remove", path: "/a" }] });
  });
});

describe("deniedBy", () => {
  test.each([
    [undefined, 400, "without explanation"],
    [{ message: "no" }, 400, ": no"],
    [{ reason: "Forbidden" }, 400, ": Forbidden"],
    [{ code: 200 }, 400, "without explanation"],
    [{ code: 503 }, 503, "without explanation"],
    [{ code: 99999 }, 400, "without explanation"],
  ])("%j gives the code %i", (result, code, text) => {
    const error = deniedBy("a.example.com", result);
    expect(error.code).toBe(code);
    expect(error.message).toContain(`admission webhook "a.example.com" denied the request`);
    expect(error.message).toContain(text);
  });
});
