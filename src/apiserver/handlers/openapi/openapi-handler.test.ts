import { BinaryReader } from "@bufbuild/protobuf/wire";
import { describe, expect, test } from "vitest";
import { builtInKinds } from "../../../api/kinds/built-in-kinds.ts";
import { createKindRegistry } from "../../kinds/kind-registry.ts";
import { createOpenApiHandler } from "./openapi-handler.ts";

const handle = createOpenApiHandler({ kinds: createKindRegistry(builtInKinds) });

async function get(path: string, headers = {}, query = "") {
  const answer = await handle(path, headers, new URLSearchParams(query));
  if (!answer) throw new Error(`${path} is not served`);
  return answer;
}

async function addressesOf(): Promise<Map<string, URL>> {
  const { paths } = JSON.parse((await get("/openapi/v3")).body.toString());
  return new Map(
    Object.entries<{ serverRelativeURL: string }>(paths).map(([name, { serverRelativeURL }]) => [
      name,
      new URL(serverRelativeURL, "http://server"),
    ]),
  );
}

describe("openApiHandler", () => {
  test("the index links to an immutable document for each group version", async () => {
    const addresses = await addressesOf();
    expect([...addresses.keys()]).toEqual(
      expect.arrayContaining(["api/v1", "apis/apps/v1", "apis/policy/v1"]),
    );
    for (const [name, { pathname, search }] of addresses) {
      const answer = await get(pathname, {}, search);
      expect({ name, status: answer.status }).toEqual({ name, status: 200 });
      expect(answer.headers).toMatchObject({ "content-type": "application/json", vary: "Accept" });
      expect(answer.headers["cache-control"]).toContain("immutable");
      expect(JSON.parse(answer.body.toString()).openapi).toBe("3.0.0");
    }
  });

  test("a changed kind changes only the documents that contain it", async () => {
    const kinds = createKindRegistry(builtInKinds);
    const changing = createOpenApiHandler({ kinds });
    const bodyOf = async (path: string) => (await changing(path, {}))?.body;
    const paths = ["/openapi/v3/api/v1", "/openapi/v3/apis/policy/v1"];
    const before = await Promise.all(paths.map(bodyOf));
    const policy = { group: "policy", version: "v1", plural: "poddisruptionbudgets" };
    const definition = kinds.find(policy);
    if (!definition) throw new Error("not registered");
    await kinds.replace(definition, { ...definition, subresources: [] });
    const after = await Promise.all(paths.map(bodyOf));
    expect(after[0]).toBe(before[0]);
    expect(after[1]?.toString()).not.toBe(before[1]?.toString());
  });

  test("without a hash a document may change", async () => {
    expect((await get("/openapi/v3/api/v1")).headers).not.toHaveProperty("cache-control");
  });

  test("an outdated hash redirects to the current one", async () => {
    const { pathname, search } = (await addressesOf()).get("apis/apps/v1") ?? new URL("http://missing");
    const answer = await get(pathname, {}, "hash=OLD");
    expect(answer).toMatchObject({ status: 301, headers: { location: pathname + search } });
  });

  test.each(["/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1"])("%s is not sent twice", async (path) => {
    const { headers } = await get(path);
    const again = await get(path, { "if-none-match": headers.etag });
    expect({ status: again.status, length: again.body.length }).toEqual({ status: 304, length: 0 });
  });

  test.each([
    "/",
    "/openapi",
    "/openapi/v4",
    "/openapi/v3/api/v2",
    "/openapi/v3/constructor",
    "/openapi/v2/x",
  ])("%s is not ours", (path) => {
    expect(handle(path, {})).toBeUndefined();
  });

  test("the protobuf form of version 2 has the content of the JSON form", async () => {
    const json = JSON.parse((await get("/openapi/v2")).body.toString());
    const accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    const { headers, body } = await get("/openapi/v2", { accept });
    expect(headers["content-type"]).toBe("application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    expect(fieldsOf(body).get(1)?.[0]?.toString()).toBe("2.0");
    const namesIn = (field: number, entries: number) =>
      fieldsOf(fieldsOf(body).get(field)?.[0])
        .get(entries)
        ?.map((entry) => fieldsOf(entry).get(1)?.[0]?.toString());
    expect(namesIn(8, 2)).toEqual(Object.keys(json.paths));
    expect(namesIn(9, 1)).toEqual(Object.keys(json.definitions));
  });
});

/** The length-delimited fields of a message, by number. */
function fieldsOf(message: Uint8Array = new Uint8Array()): Map<number, Buffer[]> {
  const reader = new BinaryReader(message);
  const fields = new Map<number, Buffer[]>();
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (wireType !== 2) reader.skip(wireType);
    else fields.set(number, [...(fields.get(number) ?? []), Buffer.from(reader.bytes())]);
  }
  return fields;
}
