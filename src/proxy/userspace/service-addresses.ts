import { readFile, rm } from "node:fs/promises";
import { isIP } from "node:net";
import { writeFileAtomic } from "../../lib/fs/write-file-atomic.ts";
import { createRangeCheck } from "../../lib/ip-ranges.ts";
import { tryRunProgram } from "../../lib/process/run-program.ts";

/** Single addresses of an interface, of services and others. */
export async function readAddresses(device: string): Promise<ReadonlySet<string>> {
  // Only the addresses, because output is limited.
  const script = `ip -oneline address show dev "$1" | awk '{ print $4 }'`;
  const { exitCode, output } = await tryRunProgram("sh", ["-c", script, "sh", device], { timeoutMs: 10_000 });
  if (exitCode !== 0) return new Set();
  return new Set(output.split("\n").flatMap((line) => /^(\S+)\/(?:32|128)$/.exec(line)?.[1] ?? []));
}

/**
 * Chooses the addresses that an earlier process left for services. Single addresses on the interface of the pods are those
 * of services. `lo` may have others: there they are cluster IPs or recorded addresses.
 */
export function findLeftAddresses(facts: {
  readonly device: string;
  readonly present: ReadonlySet<string>;
  readonly recorded: ReadonlySet<string>;
  /** Range of cluster IPs. */
  readonly serviceSubnet: string;
}): Set<string> {
  const { device, present, recorded, serviceSubnet } = facts;
  if (device !== "lo") return new Set(present);
  const isClusterIP = createRangeCheck([serviceSubnet]);
  return new Set([...present].filter((address) => recorded.has(address) || isClusterIP(address)));
}

export async function changeAddresses(
  device: string,
  verb: "replace" | "delete",
  addresses: readonly string[],
): Promise<void> {
  if (addresses.length === 0) return;
  const lines = addresses.map((address) =>
    address.includes(":")
      ? `address ${verb} ${address}/128 dev ${device}${verb === "replace" ? " nodad" : ""}`
      : `address ${verb} ${address}/32 dev ${device}`,
  );
  const { exitCode, output } = await tryRunProgram("ip", ["-force", "-batch", "-"], {
    input: `${lines.join("\n")}\n`,
    timeoutMs: 60_000,
  });
  // An address or interface that is already gone need not be deleted.
  if (exitCode !== 0 && verb === "replace") throw new Error(`ip address ${verb}: ${output.slice(0, 1_000)}`);
}

/** Record of the addresses that the backend adds to an interface, written before they are added. */
interface AddressRecord {
  /** Addresses do not survive a reboot, after which the machine can have the same ones for another purpose. */
  readonly bootId: string;
  readonly device: string;
  readonly addresses: readonly string[];
}

export async function writeAddressRecord(
  file: string,
  { device, addresses }: { readonly device: string; readonly addresses: Iterable<string> },
): Promise<void> {
  const record: AddressRecord = { bootId: await readBootId(), device, addresses: [...addresses] };
  await writeFileAtomic(file, `${JSON.stringify(record)}\n`);
}

/** Reads the addresses that are recorded for the interface. Empty if the record is missing, invalid or of an earlier boot. */
export async function readAddressRecord(file: string, device: string): Promise<ReadonlySet<string>> {
  const record = await readRecord(file);
  return new Set(record?.device === device ? record.addresses : []);
}

/** Removes the addresses that the service proxy of a stopped cluster left. */
export async function removeRecordedAddresses(file: string): Promise<void> {
  const record = await readRecord(file);
  if (record) await changeAddresses(record.device, "delete", record.addresses);
  await rm(file, { force: true });
}

async function readRecord(file: string): Promise<AddressRecord | undefined> {
  const text = await readFile(file, "utf8").catch(() => "");
  try {
    const { bootId, device, addresses }: AddressRecord = JSON.parse(text);
    // Both become part of a command.
    const isSound = /^[\w.-]{1,15}$/.test(device) && addresses.every((address) => isIP(address) > 0);
    return isSound && bootId === (await readBootId()) ? { bootId, device, addresses } : undefined;
  } catch {
    return undefined;
  }
}

async function readBootId(): Promise<string> {
  return (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
}
