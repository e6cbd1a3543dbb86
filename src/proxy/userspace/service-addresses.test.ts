import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { findLeftAddresses, readAddressRecord, writeAddressRecord } from "./service-addresses.ts";

test.each([
  { device: "lo", left: ["10.96.0.7", "192.0.2.77", "fd96::7"] },
  { device: "kindling0", left: ["10.96.0.7", "192.0.2.77", "fd96::7", "192.0.2.99", "::1"] },
])("finds the addresses of services that were left on $device", ({ device, left }) => {
  const present = new Set(["10.96.0.7", "192.0.2.77", "fd96::7", "192.0.2.99", "::1"]);
  const recorded = new Set(["192.0.2.77", "fd96::7", "192.0.2.78"]);
  const found = findLeftAddresses({ device, present, recorded, serviceSubnet: "10.96.0.0/16" });
  expect([...found]).toEqual(left);
});

const folder = temporaryFolder();

test("reads the recorded addresses of the same interface and boot", async () => {
  const file = join(folder, "addresses.json");
  const read = async () => [...(await readAddressRecord(file, "lo"))];
  expect(await read()).toEqual([]);
  await writeAddressRecord(file, { device: "lo", addresses: ["192.0.2.77", "fd96::7"] });
  expect(await read()).toEqual(["192.0.2.77", "fd96::7"]);
  expect([...(await readAddressRecord(file, "kindling0"))]).toEqual([]);
  const record = JSON.parse(await readFile(file, "utf8"));
  for (const invalid of [
    { ...record, bootId: "earlier" },
    { ...record, addresses: ["192.0.2.77", "192.0.2.78 dev eth0"] },
    { ...record, device: "lo\naddress flush dev eth0" },
    { bootId: record.bootId },
    null,
  ]) {
    await writeFile(file, JSON.stringify(invalid));
    expect(await read()).toEqual([]);
  }
});
