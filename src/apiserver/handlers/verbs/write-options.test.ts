import { describe, expect, test } from "vitest";
import type { ApiRequest } from "../../request/api-request.ts";
import { parseDeleteOptions, parseWriteOptions } from "./write-options.ts";

const write = (query: string) => parseWriteOptions(new URLSearchParams(query), "CreateOptions");

test.each([
  ["", { dryRun: false, fieldValidation: "Warn" }],
  ["fieldManager=kubectl-create&fieldValidation=Strict", { dryRun: false, fieldValidation: "Strict" }],
  ["dryRun=All&fieldValidation=", { dryRun: true, fieldValidation: "Warn" }],
])("%j", (query, expected) => {
  expect(write(query)).toEqual(expected);
});

test.each([
  ["dryRun=Some", 'dryRun: Unsupported value: ["Some"]: supported values: "All"'],
  [
    "fieldValidation=x",
    'fieldValidation: Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn"',
  ],
  [`fieldManager=${"x".repeat(129)}`, "fieldManager: Too long: may not be more than 128 bytes"],
  ["fieldManager=a%09", 'fieldManager: Invalid value: "a\\t": invalid character U+0009 (at position 1)'],
])("%j is refused", (query, message) => {
  const whole = `CreateOptions.meta.k8s.io "" is invalid: ${message}`;
  expect(() => write(query)).toThrow(expect.objectContaining({ code: 422, message: whole }));
});

describe("deletes", () => {
  function options(query: string, body = "") {
    const request: Pick<ApiRequest, "query" | "headers" | "readBody"> = {
      query: new URLSearchParams(query),
      headers: {},
      readBody: async () => Buffer.from(body),
    };
    return parseDeleteOptions(request as ApiRequest);
  }

  test("from the query, or from the body", async () => {
    expect(await options("gracePeriodSeconds=-3&propagationPolicy=Orphan")).toEqual({
      gracePeriodSeconds: -3,
      propagationPolicy: "Orphan",
      dryRun: [],
    });
    expect(await options("dryRun=All", '{"gracePeriodSeconds":0}')).toEqual({
      gracePeriodSeconds: 0,
      dryRun: ["All"],
    });
  });

  test.each([
    [
      '{"propagationPolicy":"X"}',
      422,
      'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "X": supported values: "Foreground", "Background", "Orphan", "nil"',
    ],
    [
      '{"propagationPolicy":"Orphan","orphanDependents":true}',
      422,
      'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
    ],
    ["{", 400, "couldn't get version/kind; json parse error: unexpected end of JSON input"],
    [
      '{"kind":"Pod","apiVersion":"v1"}',
      400,
      'no kind "Pod" is registered for version "v1" in scheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"',
    ],
  ])("%s is refused", async (body, code, message) => {
    await expect(options("", body)).rejects.toMatchObject({ code, message });
  });
});
