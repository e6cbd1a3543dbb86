import { execFile } from "node:child_process";
import type { Clock } from "../lib/clock.ts";
import type { ExecPlugin } from "./kubeconfig.ts";

/** What a credential plugin printed. */
export interface ExecCredential {
  readonly token?: string;
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** Undefined: as long as this process lives. */
  readonly expiresAt?: number;
}

/** Programs that ask a cloud are slow, those that ask a person wait for ever. */
const timeoutMs = 60_000;
/** A credential is asked for anew while it still works. */
const renewBeforeMs = 30_000;

/** The credential of the moment: the plugin runs when there is none or the last one expires, once for all that wait. */
export function createExecCredential(
  plugin: ExecPlugin,
  clock: Clock,
  run: (plugin: ExecPlugin) => Promise<string> = runPlugin,
): () => Promise<ExecCredential> {
  let last: ExecCredential | undefined;
  let asking: Promise<ExecCredential> | undefined;

  async function ask(): Promise<ExecCredential> {
    last = parseExecCredential(await run(plugin), plugin);
    return last;
  }

  return async () => {
    if (last && (last.expiresAt === undefined || clock.now() < last.expiresAt - renewBeforeMs)) return last;
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  };
}

export function parseExecCredential(text: string, { field, apiVersion }: ExecPlugin): ExecCredential {
  const { kind, apiVersion: printed, status } = readJson(text, field);
  if (kind !== "ExecCredential" || printed !== apiVersion) {
    throw new Error(`${field}: the program printed no ExecCredential of ${apiVersion}`);
  }
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status ?? {};
  if (!token && !(cert && key))
    throw new Error(`${field}: the program printed neither token nor certificate`);
  const expiresAt = expirationTimestamp ? Date.parse(expirationTimestamp) : undefined;
  return {
    ...(token && { token }),
    ...(cert && key && { certificate: { cert, key } }),
    ...(expiresAt !== undefined && !Number.isNaN(expiresAt) && { expiresAt }),
  };
}

interface Printed {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
    readonly expirationTimestamp?: string;
  };
}

function readJson(text: string, field: string): Printed {
  try {
    return JSON.parse(text) ?? {};
  } catch (error) {
    // What it printed may be a secret.
    throw new Error(`${field}: the program printed no JSON`, { cause: error });
  }
}

function runPlugin({ command, args, env, apiVersion, installHint, field }: ExecPlugin): Promise<string> {
  const info = { kind: "ExecCredential", apiVersion, spec: { interactive: false } };
  return new Promise((resolve, reject) => {
    const child = execFile(
      command,
      [...args],
      {
        env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
        timeout: timeoutMs,
        maxBuffer: 1 << 20,
      },
      (error, stdout, stderr) => {
        if (!error) return resolve(stdout);
        const missing = "code" in error && error.code === "ENOENT";
        const why = missing ? `${command} is not installed` : stderr.trim() || error.message;
        reject(new Error([`${field}: ${why}`, missing && installHint].filter(Boolean).join("\n")));
      },
    );
    child.stdin?.end();
  });
}
