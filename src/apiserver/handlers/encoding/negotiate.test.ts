import { describe, expect, test } from "vitest";
import { StatusError } from "../../../api/meta/status-error.ts";
import { negotiate, negotiateFormat } from "./negotiate.ts";

const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
const protobuf = "application/vnd.kubernetes.protobuf";

describe("negotiate", () => {
  test.each([
    [undefined, { format: "json", as: "object" }],
    ["", { format: "json", as: "object" }],
    ["*/*", { format: "json", as: "object" }],
    ["*", { format: "json", as: "object" }],
    ["application/*", { format: "json", as: "object" }],
    ["application/yaml", { format: "yaml", as: "object" }],
    ["application/yaml, application/json", { format: "yaml" }],
    ["application/yaml;q=0.1,application/json", { format: "json" }],
    ["*/*,application/yaml", { format: "yaml" }],
    [`${protobuf},application/json`, { format: "json", as: "object" }],
    [
      `${table},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json`,
      { as: "table", metaVersion: "v1" },
    ],
    ["application/json;as=Table;v=v1beta1;g=meta.k8s.io", { as: "table", metaVersion: "v1beta1" }],
    [" application/json ; as = Table ; g=meta.k8s.io; v=v1", { as: "table" }],
    ["application/yaml;as=Table;v=v1;g=meta.k8s.io", { format: "yaml", as: "table" }],
    [
      `${protobuf};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1`,
      { format: "json", as: "partialObjectMetadataList" },
    ],
    ["application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", { as: "partialObjectMetadata" }],
    ["application/json;as=Other;g=meta.k8s.io;v=v1,application/json", { as: "object" }],
    ["application/json;as=Table;g=meta.k8s.io;v=v2,application/json", { as: "object" }],
    ["application/json;as=Table,application/json;pretty=1", { as: "object", pretty: true }],
    ["application/json;stream=watch", { format: "json" }],
    ["application/json;charset=utf-8", { format: "json" }],
  ])("%j", (accept, expected) => {
    expect(negotiate(accept)).toMatchObject(expected);
  });

  test.each([
    protobuf,
    "text/plain",
    "json",
    "application/json/x",
    ",",
    "application/json;as=Table",
    "application/yaml;stream=watch",
  ])("%j is not acceptable", (accept) => {
    expect(() => negotiate(accept)).toThrow(
      new StatusError(
        406,
        "NotAcceptable",
        "only the following media types are accepted: application/json, application/yaml",
      ),
    );
  });

  test("returns 406 for a table of a resource without one", () => {
    expect(() => negotiate(table, { table: false })).toThrow(/only the following media types/);
    expect(negotiate(`${table},application/json`, { table: false })).toMatchObject({ as: "object" });
  });

  test("a watch is JSON", () => {
    expect(negotiate(`application/yaml;q=0.5,${table}`, { watch: true })).toMatchObject({ as: "table" });
    expect(() => negotiate("application/yaml", { watch: true })).toThrow(/application\/json;stream=watch$/);
  });
});

test("negotiateFormat ignores transformations", () => {
  expect(negotiateFormat(undefined)).toBe("json");
  expect(negotiateFormat(`${table},application/yaml`)).toBe("yaml");
  expect(() => negotiateFormat(table)).toThrow(StatusError);
});
