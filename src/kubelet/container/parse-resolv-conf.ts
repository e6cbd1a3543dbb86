import type { DNSConfig } from "../../cri/generated/cri.ts";

/** Servers add up; the last `search` line counts; of an option, its last mention. */
export function parseResolvConf(text: string): DNSConfig {
  const servers: string[] = [];
  let searches: string[] = [];
  const options = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [keyword, ...fields] = line.trim().split(/\s+/);
    switch (keyword) {
      case "nameserver":
        if (fields[0] === undefined) throw new Error("nameserver list is empty");
        servers.push(fields[0]);
        break;
      case "search":
        // With and without its last dot a domain is the same one.
        searches = fields.filter((field) => field !== ".").map((field) => field.replace(/\.$/, ""));
        break;
      case "options":
        for (const option of fields) options.set(option.split(":", 1)[0] ?? option, option);
        break;
    }
  }
  return { servers, searches, options: [...options.values()] };
}
