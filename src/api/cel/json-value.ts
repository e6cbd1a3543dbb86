import { CelList, CelMap, type Value } from "./values.ts";

/** Value of JSON without a schema. Whole numbers are ints; parts are converted when an expression reads them. */
export function fromJson(json: unknown): Value {
  if (json === null || json === undefined) return null;
  if (typeof json === "string" || typeof json === "boolean") return json;
  if (typeof json === "number") return Number.isSafeInteger(json) ? BigInt(json) : json;
  return Array.isArray(json) ? new JsonList(json) : new JsonMap(json as Readonly<Record<string, unknown>>);
}

class JsonList extends CelList {
  private readonly json: readonly unknown[];

  constructor(json: readonly unknown[]) {
    super();
    this.json = json;
  }

  get length(): number {
    return this.json.length;
  }

  at(index: number): Value {
    return fromJson(this.json[index]);
  }
}

class JsonMap extends CelMap {
  private readonly json: Readonly<Record<string, unknown>>;

  constructor(json: Readonly<Record<string, unknown>>) {
    super();
    this.json = json;
  }

  get size(): number {
    return Object.keys(this.json).length;
  }

  find(key: Value): Value | undefined {
    return typeof key === "string" && Object.hasOwn(this.json, key) ? fromJson(this.json[key]) : undefined;
  }

  keys(): readonly string[] {
    return Object.keys(this.json);
  }
}
