import { setTimeout as delay } from "node:timers/promises";
import { createDefinition, readBody } from "./api-load.ts";
import type { ChildServer } from "./child-server.ts";
import { median } from "./median.ts";
import { printTable } from "./print-table.ts";

interface DefinitionsBench {
  /** Starts an API server on the data directory of this name. */
  startServer(name: string): Promise<ChildServer>;
  readonly rounds: number;
}

const definitions = 500;
const settleMs = 1_500;

/** Measures the start and the memory of a server with 500 CustomResourceDefinitions of 20 KB each. */
export async function measureDefinitions({ startServer, rounds }: DefinitionsBench): Promise<void> {
  const first = await startServer("definitions");
  const schema = largeSchema();
  for (let i = 0; i < definitions; i++) await createDefinition(first.url, { index: i, schema });
  const last = `things${definitions - 1}`;
  while (!(await readBody(`${first.url}/apis/example.com/v1`)).includes(last)) await delay(100);
  await first.stop();
  const starts: number[] = [];
  const megabytes: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const server = await startServer("definitions");
    starts.push(server.startMs);
    await delay(settleMs);
    megabytes.push(server.residentMegabytes());
    await server.stop();
  }
  const kilobytes = (JSON.stringify(schema).length / 1_024).toFixed(0);
  const title = `${definitions} definitions with ${kilobytes} KB of schema each`;
  printTable(
    [title, "median"],
    [
      ["ready after launch", `${median(starts).toFixed(0)} ms`],
      ["resident memory", `${median(megabytes).toFixed(0)} MB`],
    ],
  );
}

function largeSchema(): object {
  const fields = Array.from({ length: 100 }, (_, i) => {
    const description = `Description of field ${i} of this resource, as long as descriptions usually are.`;
    const properties = { name: { type: "string", maxLength: 63 }, value: { type: "integer", minimum: 0 } };
    return [`field${i}`, { type: "object", description, properties }];
  });
  const spec = { type: "object", properties: Object.fromEntries(fields) };
  return { type: "object", properties: { spec } };
}
