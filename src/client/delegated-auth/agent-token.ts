/** Audience of tokens for node agents. The API server does not accept them. */
export const agentAudience = "kindling-node-agent";

/** Header with such a token. The API server's proxy removes the header `Authorization`. */
export const agentTokenHeader = "kindling-node-agent-token";
