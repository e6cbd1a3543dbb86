import { createPublicKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { signCertificate } from "../../../lib/x509/certificate.ts";
import { selfIssuer, subjectOf } from "../../../lib/x509/issuer.ts";
import { issueClientCertificate, loadOrCreatePki } from "./pki.ts";

const day = 24 * 60 * 60 * 1000;
const start = Date.parse("2026-03-01T00:00:00Z");
let directory: string;

beforeEach(async () => {
  directory = join(await mkdtemp(join(tmpdir(), "kindling-pki-")), "pki");
});
afterEach(() => rm(join(directory, ".."), { recursive: true }));

const load = (now = start, hosts: string[] = []) => loadOrCreatePki({ directory, now, hosts });
const read = (name: string) => readFile(join(directory, name), "utf8");

describe("a new directory", () => {
  test("gets a CA, keys and certificates that only its owner may read", async () => {
    await load();
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    const files = await readdir(directory);
    expect(files.sort()).toEqual([
      "admin.crt",
      "admin.key",
      "apiserver-kubelet-client.crt",
      "apiserver-kubelet-client.key",
      "apiserver.crt",
      "apiserver.key",
      "ca.crt",
      "ca.key",
      "controller-manager.crt",
      "controller-manager.key",
      "sa.key",
      "scheduler.crt",
      "scheduler.key",
    ]);
    for (const file of files.filter((name) => name.endsWith(".key"))) {
      expect((await stat(join(directory, file))).mode & 0o777).toBe(0o600);
    }
  });

  test("gets a serving certificate for every name of the API", async () => {
    const { serving } = await load(start, ["api.example.com", "fd00::1:2", "192.0.2.7"]);
    const certificate = new X509Certificate(serving.cert);
    for (const host of ["localhost", "kubernetes.default.svc", "api.example.com"]) {
      expect(certificate.checkHost(host)).toBe(host);
    }
    for (const address of ["127.0.0.1", "::1", "10.96.0.1", "fd00::1:2", "192.0.2.7"]) {
      expect(certificate.checkIP(address)).toBe(address);
    }
    expect(certificate.checkIP("192.0.2.8")).toBeUndefined();
  });

  test.each([
    ["admin", "kubernetes-admin", "system:masters"],
    ["controllerManager", "system:kube-controller-manager", undefined],
    ["scheduler", "system:kube-scheduler", undefined],
    ["kubeletClient", "kube-apiserver-kubelet-client", undefined],
  ] as const)("%s is %s of %s", async (client, CN, O) => {
    const pki = await load();
    const certificate = new X509Certificate(pki[client].cert);
    expect(subjectOf(certificate)).toEqual({ commonName: CN, organizations: O ? [O] : [] });
    expect(certificate.verify(pki.authority.certificate.publicKey)).toBe(true);
    expect(certificate.checkIssued(pki.authority.certificate)).toBe(true);
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
  });
});

describe("an existing directory", () => {
  test("is used unchanged", async () => {
    await load();
    const before = await Promise.all((await readdir(directory)).map(read));
    await load(start + 300 * day);
    expect(await Promise.all((await readdir(directory)).map(read))).toEqual(before);
  });

  test.each([
    ["expires soon", () => load(start + 336 * day), "apiserver.crt"],
    [
      "is not valid yet, since the clock went back",
      () => load(start + 400 * day).then(() => load(start + day)),
      "admin.crt",
    ],
    ["lacks a host", () => load(start, ["new.example.com"]), "apiserver.crt"],
    ["is missing", async () => unlink(join(directory, "admin.key")).then(() => load()), "admin.crt"],
    ["is broken", async () => writeFile(join(directory, "admin.crt"), "x").then(() => load()), "admin.crt"],
  ])("a certificate that %s is issued again by the same CA", async (_, reload, file) => {
    await load();
    const [ca, old] = [await read("ca.crt"), await read(file)];
    await reload();
    expect(await read("ca.crt")).toBe(ca);
    expect(await read(file)).not.toBe(old);
    expect(new X509Certificate(await read(file)).verify(new X509Certificate(ca).publicKey)).toBe(true);
  });

  test("a certificate for another subject, as older versions made them, is issued again", async () => {
    const pki = await load();
    const old = issueClientCertificate(pki, {
      commonName: "kube-apiserver-kubelet-client",
      organizations: ["system:masters"],
      now: start,
    });
    await writeFile(join(directory, "apiserver-kubelet-client.crt"), old.cert);
    await writeFile(join(directory, "apiserver-kubelet-client.key"), old.key);
    const { kubeletClient } = await load();
    expect(new X509Certificate(kubeletClient.cert).subject).toBe("CN=kube-apiserver-kubelet-client");
  });

  test("recreates a lost CA certificate from its key", async () => {
    const { admin } = await load();
    await unlink(join(directory, "ca.crt"));
    const renewed = await load();
    expect(new X509Certificate(admin.cert).verify(renewed.authority.certificate.publicKey)).toBe(true);
  });

  test.each([
    ["ca.crt", "nonsense", /ca\.crt: is not a certificate in PEM/],
    ["ca.key", "nonsense", /ca\.key: is not a private key in PEM/],
    ["sa.key", "nonsense", /sa\.key: is not a private key in PEM/],
    ["ca.key", undefined, /ca\.key: is missing, but its certificate/],
    ["ca.key", anotherKey(), /ca\.crt: does not belong to ca\.key/],
  ])("%s that cannot be used is an error and stays as it is", async (file, content, message) => {
    await load();
    if (content === undefined) await unlink(join(directory, file));
    else await writeFile(join(directory, file), content);
    const before = await Promise.all((await readdir(directory)).sort().map(read));
    await expect(load()).rejects.toThrow(message);
    expect(await Promise.all((await readdir(directory)).sort().map(read))).toEqual(before);
  });

  test("an expired CA is an error that names the fix", async () => {
    await load();
    await expect(load(start + 3651 * day)).rejects.toThrow(/ca\.crt: expired on .*; move it away/);
  });

  test("a CA that is not valid yet is an error with the current time", async () => {
    await load();
    await expect(load(start - day)).rejects.toThrow(
      /ca\.crt: is valid from .*, and the clock says Sat, 28 Feb 2026 .*; set the clock right/,
    );
  });

  test("rejects a leaf certificate as the CA", async () => {
    await load();
    await writeFile(join(directory, "ca.crt"), await read("admin.crt"));
    await writeFile(join(directory, "ca.key"), await read("admin.key"));
    await expect(load()).rejects.toThrow(/is not the certificate of a CA/);
  });

  test("signs with an RSA key of another tool", async () => {
    await load();
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const subject = { commonName: "their CA", organizations: ["Ü & Co", "second"] };
    const cert = signCertificate(
      {
        subject,
        publicKey: createPublicKey(privateKey),
        purpose: "ca",
        notBefore: start - day,
        // From 2050 on years have four digits.
        notAfter: Date.parse("2051-01-01T00:00:00Z"),
      },
      selfIssuer(subject, privateKey),
    );
    await writeFile(join(directory, "ca.crt"), cert);
    await writeFile(join(directory, "ca.key"), privateKey.export({ type: "pkcs1", format: "pem" }));
    const { admin } = await load();
    const certificate = new X509Certificate(admin.cert);
    expect(new X509Certificate(cert).validTo).toBe("Jan  1 00:00:00 2051 GMT");
    expect(certificate.checkIssued(new X509Certificate(cert))).toBe(true);
    expect(certificate.verify(createPublicKey(privateKey))).toBe(true);
  });
});

test("issues client certificates for any subject that expire with the CA at the latest", async () => {
  const pki = await load();
  const { cert } = issueClientCertificate(pki, {
    commonName: "system:node:n1",
    organizations: ["system:nodes"],
    now: start + 3600 * day,
  });
  const certificate = new X509Certificate(cert);
  expect(subjectOf(certificate)).toEqual({ commonName: "system:node:n1", organizations: ["system:nodes"] });
  expect(certificate.validTo).toBe(pki.authority.certificate.validTo);
});

function anotherKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}
