import { messageOf } from "../../../lib/message-of.ts";
import { runQuietly } from "../../process/run-quietly.ts";
import { NetworkError } from "../network-error.ts";
import { runQuietTool } from "../run-process.ts";
import { hasRules, type PacketRules, renderRemoval, renderRules, savedPattern } from "./packet-rules.ts";

/** Why iptables cannot serve here; undefined when it can. */
export async function iptablesProblem(): Promise<string | undefined> {
  try {
    await runQuietTool("iptables-save", []);
    await runQuietTool("iptables-restore", ["--noflush", "--test", "--wait"], { input: "*nat\nCOMMIT\n" });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

export async function applyRules(rules: PacketRules): Promise<void> {
  await restore(renderRules(rules, await save(rules)));
}

/** Whether nobody has taken them away since. */
export async function areRulesThere(rules: PacketRules): Promise<boolean> {
  return hasRules(rules, await save(rules));
}

export async function removeRules(rules: Omit<PacketRules, "pods">): Promise<void> {
  await restore(renderRemoval(rules, await save(rules)));
}

async function save({ bridge }: Pick<PacketRules, "bridge">): Promise<string> {
  const script = `all=$(iptables-save) || exit; printf '%s\\n' "$all" | grep -oE "$1" || :`;
  const args = ["-c", script, "sh", savedPattern(bridge)];
  const { exitCode, output } = await runQuietly("sh", args, { timeoutMs: 10_000 });
  if (exitCode !== 0)
    throw new NetworkError("toolFailed", `iptables-save failed with ${exitCode}: ${output}`);
  return output;
}

async function restore(input: string): Promise<void> {
  await runQuietTool("iptables-restore", ["--noflush", "--wait"], { input });
}
