/** Configuration of a resolver. */
export interface ResolverConfig {
  servers: string[];
  searches: string[];
  options: string[];
}

/** Parses resolv.conf. All name servers count; of search lines and of equal options, the last one. */
export function parseResolvConf(text: string): ResolverConfig {
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
        // A trailing dot does not change a domain.
        searches = fields.filter((field) => field !== ".").map((field) => field.replace(/\.$/, ""));
        break;
      case "options":
        for (const option of fields) options.set(option.split(":", 1)[0] ?? option, option);
        break;
    }
  }
  return { servers, searches, options: [...options.values()] };
}
