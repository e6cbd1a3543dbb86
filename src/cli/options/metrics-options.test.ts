import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseListenAddress } from "./common-options.ts";
import { type MetricsFlags, readMetricsServing } from "./metrics-options.ts";

let folder: string;
const file = () => join(folder, "file.pem");
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "kindling-metrics-options-"));
  await writeFile(file(), "pem");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const read = ({ listen, ...files }: Omit<MetricsFlags, "metricsListen"> & { listen?: string }) =>
  readMetricsServing({
    ...files,
    metricsListen: listen === undefined ? undefined : parseListenAddress(listen),
  });

test("serves nothing by default", async () => {
  expect(await read({})).toBeUndefined();
});

test.each(["127.0.0.1:0", "localhost:1", "[::1]:2", "127.9.9.9:3"])("%s is open", async (listen) => {
  expect(await read({ listen })).toEqual({ kind: "open", listen: parseListenAddress(listen) });
});

test.each(["0.0.0.0:0", ":1", "[::]:2", "192.0.2.1:3", "localhost.example.com:4"])(
  "%s is guarded",
  async (listen) => {
    const at = parseListenAddress(listen);
    expect(await read({ listen })).toEqual({ kind: "guarded", listen: at });
    const [tlsCertFile, tlsPrivateKeyFile, clientCaFile] = [file(), file(), file()];
    const pem = Buffer.from("pem");
    expect(await read({ listen, tlsCertFile, tlsPrivateKeyFile, clientCaFile })).toEqual({
      kind: "guarded",
      listen: at,
      tls: { cert: pem, key: pem },
      clientCa: pem,
    });
  },
);

test.each([
  { listen: ":1", tlsCertFile: "a", says: "must be set together" },
  { listen: ":1", tlsPrivateKeyFile: "a", says: "must be set together" },
  {
    listen: "127.0.0.1:1",
    tlsCertFile: "a",
    tlsPrivateKeyFile: "b",
    says: "on loopback metrics are served without TLS",
  },
  { clientCaFile: "a", says: "need a --metrics-listen address other than loopback" },
  { listen: ":1", clientCaFile: "/no/such/file", says: "--client-ca-file: /no/such/file does not exist" },
])("wrong: $says", async ({ says, ...flags }) => {
  await expect(read(flags)).rejects.toThrow(says);
});
