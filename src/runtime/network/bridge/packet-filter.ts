import { messageOf } from "../../../lib/message-of.ts";
import { runQuietTool, runTool } from "../run-process.ts";
import { type PacketRules, renderRemoval, renderRules } from "./packet-rules.ts";

/** Why iptables cannot serve here; undefined when it can. */
export async function iptablesProblem(): Promise<string | undefined> {
  try {
    await save();
    await runQuietTool("iptables-restore", ["--noflush", "--test", "--wait"], { input: "*nat\nCOMMIT\n" });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

export async function applyRules(rules: PacketRules): Promise<void> {
  await restore(renderRules(rules, await save()));
}

export async function removeRules(rules: Omit<PacketRules, "pods">): Promise<void> {
  await restore(renderRemoval(rules, await save()));
}

function save(): Promise<string> {
  return runTool("iptables-save", []);
}

async function restore(input: string): Promise<void> {
  await runQuietTool("iptables-restore", ["--noflush", "--wait"], { input });
}
