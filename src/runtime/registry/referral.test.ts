import { expect, test } from "vitest";
import { checkReferred, isReferral, referredLookup } from "./referral.ts";

test.each([
  ["https://registry.example/v2/", "https://auth.example/token", true],
  ["https://registry.example/v2/", "https://registry.example/token", false],
  ["https://registry.example/v2/", "http://169.254.169.254/latest", true],
  ["http://127.0.0.1:5000/v2/", "http://127.0.0.1:5001/token", false],
  ["http://localhost:5000/v2/", "http://localhost:5001/token", false],
  ["http://[::1]:5000/v2/", "http://[::1]:5001/token", false],
])("from %s to %s is judged: %s", (from, to, judged) => {
  expect(isReferral(new URL(from), new URL(to))).toBe(judged);
});

test.each([
  "http://127.0.0.1/",
  "http://127.1/",
  "http://2130706433/",
  "http://0/",
  "http://localhost/",
  "http://LOCALHOST/",
  "http://x.localhost/",
  "http://[::1]/",
  "http://[::ffff:127.0.0.1]/",
  "http://169.254.169.254/",
  "http://0xa9fea9fe/",
  "http://[fe80::1]/",
  "http://[fd00:ec2::254]/",
  "http://100.100.100.200/latest/meta-data/",
])("%s is refused", (url) => {
  expect(() => checkReferred(new URL(url).hostname)).toThrow("an address of this machine alone");
});

test.each(["https://storage.example/", "http://10.0.0.7/", "http://192.168.1.2/", "http://[2001:db8::1]/"])(
  "%s is not",
  (url) => {
    expect(() => checkReferred(new URL(url).hostname)).not.toThrow();
  },
);

test("a name is judged by the addresses it stands for", async () => {
  const error = await new Promise((resolve) => referredLookup("localhost", {}, resolve));
  expect(error).toMatchObject({ message: expect.stringContaining("an address of this machine alone") });
});
