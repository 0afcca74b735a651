import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from '../src/base/errors.ts';
import { DEFAULT_LIMITS } from '../src/base/limits.ts';
import { EXIT } from '../src/cli/exit-code.ts';
import { SETTING_NAMES, flagOf, placesOf, variableOf } from '../src/config/settings.ts';
import * as surface from '../src/index.ts';
import { META_TOOL_NAMES, metaToolDefinitions } from '../src/meta-tools/definitions.ts';
import * as registry from '../src/registry/index.ts';
import * as search from '../src/search/index.ts';

/** What outsiders depend on, as literals. When one turns red: decide, then change both and the changelog. */
describe('the surface', () => {
  it('exports these names', () => {
    expect(Object.keys(surface).sort()).toMatchInlineSnapshot(`
      [
        "DEFAULT_LIMITS",
        "ProxyError",
        "createProxy",
      ]
    `);
    expect(Object.keys(search).sort()).toMatchInlineSnapshot(`
      [
        "RANKING",
        "byLanguage",
        "createDocumentPool",
        "meaningText",
        "measureAnswer",
        "pairedDifference",
        "readQuestionsFile",
        "scoresOf",
        "withNeighbours",
      ]
    `);
    expect(Object.keys(registry)).toEqual(['createServerFinder']);
  });

  it('has these error codes', () => {
    expect(Object.keys(ERROR_CODES)).toMatchInlineSnapshot(`
      [
        "config_invalid",
        "config_write_failed",
        "config_busy",
        "usage",
        "audit_log_failed",
        "listen_failed",
        "upstream_unresolved",
        "upstream_unreachable",
        "upstream_exited",
        "upstream_closed",
        "upstream_timeout",
        "upstream_error",
        "upstream_rate_limited",
        "upstream_auth",
        "upstream_redirect",
        "upstream_invalid",
        "upstream_too_large",
        "upstream_rejected",
        "upstream_unsupported",
        "listing_cursor_repeated",
        "listing_too_long",
        "busy",
        "registry_not_found",
        "server_not_found",
        "server_not_addable",
        "server_inputs_missing",
        "upstream_not_found",
        "upstream_exists",
        "registry_has_no_servers",
        "registry_disabled",
        "registry_key_missing",
        "registry_forbidden",
        "registry_unavailable",
        "registry_invalid",
        "model_missing",
        "model_invalid",
        "model_unavailable",
        "model_forbidden",
        "model_mismatch",
        "model_busy",
        "model_unwritable",
        "model_stopped",
        "cancelled",
        "shutting_down",
      ]
    `);
  });

  it('exits with these codes', () => {
    expect(EXIT).toMatchInlineSnapshot(`
      {
        "config": 78,
        "done": 0,
        "failed": 1,
        "interrupted": 130,
        "noModel": 66,
        "terminated": 143,
        "usage": 2,
      }
    `);
  });

  it('has these settings, with these flags and variables', () => {
    const rows = SETTING_NAMES.map(
      (name) => `${name} ${flagOf(name)} ${variableOf(name)} ${placesOf(name).join(',')}`,
    );
    expect(rows).toMatchInlineSnapshot(`
      [
        "listen --listen MCPPROXY_LISTEN flag,variable,file",
        "stdio --stdio MCPPROXY_STDIO flag,variable,file",
        "config --config MCPPROXY_CONFIG flag,variable",
        "upstream --upstream MCPPROXY_UPSTREAM flag,variable,file",
        "writeTools --write-tools MCPPROXY_WRITE_TOOLS flag,variable,file",
        "maxBatchCalls --max-batch-calls MCPPROXY_MAX_BATCH_CALLS flag,variable,file",
        "maxInstructions --max-instructions MCPPROXY_MAX_INSTRUCTIONS flag,variable,file",
        "searchSchemas --search-schemas MCPPROXY_SEARCH_SCHEMAS flag,variable,file",
        "embedder --embedder MCPPROXY_EMBEDDER flag,variable,file",
        "modelDir --model-dir MCPPROXY_MODEL_DIR flag,variable,file",
        "requireModel --require-model MCPPROXY_REQUIRE_MODEL flag,variable,file",
        "allowedHosts --allowed-hosts MCPPROXY_ALLOWED_HOSTS flag,variable,file",
        "allowedOrigins --allowed-origins MCPPROXY_ALLOWED_ORIGINS flag,variable,file",
        "insecureUpstream --insecure-upstream MCPPROXY_INSECURE_UPSTREAM flag,variable,file",
        "allowUnauthenticated --allow-unauthenticated MCPPROXY_ALLOW_UNAUTHENTICATED flag,variable,file",
        "discovery --discovery MCPPROXY_DISCOVERY flag,variable,file",
        "agentAdds --agent-adds MCPPROXY_AGENT_ADDS flag,variable,file",
        "registrySearch --registry-search MCPPROXY_REGISTRY_SEARCH flag,variable,file",
        "checkServerRepo --check-server-repo MCPPROXY_CHECK_SERVER_REPO flag,variable,file",
        "logLevel --log-level MCPPROXY_LOG_LEVEL flag,variable,file",
        "logFormat --log-format MCPPROXY_LOG_FORMAT flag,variable,file",
        "logCallers --log-callers MCPPROXY_LOG_CALLERS flag,variable,file",
        "auditLog --audit-log MCPPROXY_AUDIT_LOG flag,variable,file",
        "metricsListen --metrics-listen MCPPROXY_METRICS_LISTEN flag,variable,file",
        "maxBodyBytes --max-body-bytes MCPPROXY_MAX_BODY_BYTES flag,variable,file",
        "maxJsonDepth --max-json-depth MCPPROXY_MAX_JSON_DEPTH flag,variable,file",
        "maxHeaderBytes --max-header-bytes MCPPROXY_MAX_HEADER_BYTES flag,variable,file",
        "maxHeaders --max-headers MCPPROXY_MAX_HEADERS flag,variable,file",
        "maxConnections --max-connections MCPPROXY_MAX_CONNECTIONS flag,variable,file",
        "headersTimeoutMs --headers-timeout-ms MCPPROXY_HEADERS_TIMEOUT_MS flag,variable,file",
        "requestTimeoutMs --request-timeout-ms MCPPROXY_REQUEST_TIMEOUT_MS flag,variable,file",
        "keepAliveMs --keep-alive-ms MCPPROXY_KEEP_ALIVE_MS flag,variable,file",
        "maxRequests --max-requests MCPPROXY_MAX_REQUESTS flag,variable,file",
        "maxCallerRequests --max-caller-requests MCPPROXY_MAX_CALLER_REQUESTS flag,variable,file",
        "maxUpstreamCalls --max-upstream-calls MCPPROXY_MAX_UPSTREAM_CALLS flag,variable,file",
        "maxQueuedCalls --max-queued-calls MCPPROXY_MAX_QUEUED_CALLS flag,variable,file",
        "callQueueMs --call-queue-ms MCPPROXY_CALL_QUEUE_MS flag,variable,file",
        "maxMessageBytes --max-message-bytes MCPPROXY_MAX_MESSAGE_BYTES flag,variable,file",
        "maxListPages --max-list-pages MCPPROXY_MAX_LIST_PAGES flag,variable,file",
        "maxListTools --max-list-tools MCPPROXY_MAX_LIST_TOOLS flag,variable,file",
        "maxListBytes --max-list-bytes MCPPROXY_MAX_LIST_BYTES flag,variable,file",
        "maxToolBytes --max-tool-bytes MCPPROXY_MAX_TOOL_BYTES flag,variable,file",
        "listTimeoutMs --list-timeout-ms MCPPROXY_LIST_TIMEOUT_MS flag,variable,file",
        "dialTimeoutMs --dial-timeout-ms MCPPROXY_DIAL_TIMEOUT_MS flag,variable,file",
        "connectTimeoutMs --connect-timeout-ms MCPPROXY_CONNECT_TIMEOUT_MS flag,variable,file",
        "startTimeoutMs --start-timeout-ms MCPPROXY_START_TIMEOUT_MS flag,variable,file",
        "callTimeoutMs --call-timeout-ms MCPPROXY_CALL_TIMEOUT_MS flag,variable,file",
        "maxCallMs --max-call-ms MCPPROXY_MAX_CALL_MS flag,variable,file",
        "listingTtlMs --listing-ttl-ms MCPPROXY_LISTING_TTL_MS flag,variable,file",
        "listingStaleMs --listing-stale-ms MCPPROXY_LISTING_STALE_MS flag,variable,file",
        "maxListings --max-listings MCPPROXY_MAX_LISTINGS flag,variable,file",
        "maxListingBytes --max-listing-bytes MCPPROXY_MAX_LISTING_BYTES flag,variable,file",
        "maxListingsAtOnce --max-listings-at-once MCPPROXY_MAX_LISTINGS_AT_ONCE flag,variable,file",
        "listingQueueMs --listing-queue-ms MCPPROXY_LISTING_QUEUE_MS flag,variable,file",
        "startWaitMs --start-wait-ms MCPPROXY_START_WAIT_MS flag,variable,file",
        "emptyWaitMs --empty-wait-ms MCPPROXY_EMPTY_WAIT_MS flag,variable,file",
        "instructionsWaitMs --instructions-wait-ms MCPPROXY_INSTRUCTIONS_WAIT_MS flag,variable,file",
        "maxSchemaBytes --max-schema-bytes MCPPROXY_MAX_SCHEMA_BYTES flag,variable,file",
        "validationMs --validation-ms MCPPROXY_VALIDATION_MS flag,variable,file",
        "questionVectorMs --question-vector-ms MCPPROXY_QUESTION_VECTOR_MS flag,variable,file",
        "registryAttemptMs --registry-attempt-ms MCPPROXY_REGISTRY_ATTEMPT_MS flag,variable,file",
        "registrySearchMs --registry-search-ms MCPPROXY_REGISTRY_SEARCH_MS flag,variable,file",
        "maxRegistryBytes --max-registry-bytes MCPPROXY_MAX_REGISTRY_BYTES flag,variable,file",
        "drainMs --drain-ms MCPPROXY_DRAIN_MS flag,variable,file",
      ]
    `);
  });

  it('has these limits', () => {
    expect(DEFAULT_LIMITS).toMatchInlineSnapshot(`
      {
        "callQueueMs": 5000,
        "callTimeoutMs": 120000,
        "connectTimeoutMs": 30000,
        "dialTimeoutMs": 5000,
        "drainMs": 30000,
        "emptyWaitMs": 5000,
        "headersTimeoutMs": 10000,
        "instructionsWaitMs": 5000,
        "keepAliveMs": 65000,
        "listTimeoutMs": 30000,
        "listingQueueMs": 5000,
        "listingStaleMs": 1800000,
        "listingTtlMs": 600000,
        "maxBodyBytes": 1048576,
        "maxCallMs": 1800000,
        "maxCallerRequests": 64,
        "maxConnections": 4096,
        "maxHeaderBytes": 16384,
        "maxHeaders": 64,
        "maxJsonDepth": 128,
        "maxListBytes": 67108864,
        "maxListPages": 1000,
        "maxListTools": 50000,
        "maxListingBytes": 268435456,
        "maxListings": 5000,
        "maxListingsAtOnce": 16,
        "maxMessageBytes": 16777216,
        "maxQueuedCalls": 256,
        "maxRegistryBytes": 16777216,
        "maxRequests": 2000,
        "maxSchemaBytes": 262144,
        "maxToolBytes": 1048576,
        "maxUpstreamCalls": 128,
        "questionVectorMs": 250,
        "registryAttemptMs": 30000,
        "registrySearchMs": 60000,
        "requestTimeoutMs": 30000,
        "startTimeoutMs": 120000,
        "startWaitMs": 1000,
        "validationMs": 100,
      }
    `);
  });

  it('reserves these names', () => {
    expect(META_TOOL_NAMES).toMatchInlineSnapshot(`
      [
        "call_read_tool",
        "call_read_tools",
        "call_write_tool",
        "describe_tool",
        "search_servers",
        "search_tools",
        "upstream_servers",
      ]
    `);
  });

  it('takes these inputs', () => {
    const schemas = metaToolDefinitions({
      upstreams: [{ name: 'files' }],
      maxBatchCalls: 10,
      discovery: true,
    }).map(({ name, inputSchema, annotations }) => ({ name, inputSchema, annotations }));
    expect(schemas).toMatchInlineSnapshot(`
      [
        {
          "annotations": {
            "openWorldHint": true,
            "readOnlyHint": true,
          },
          "inputSchema": {
            "properties": {
              "arguments": {
                "description": "Must fit the tool’s input schema.",
                "type": "object",
              },
              "name": {
                "description": "As search_tools gave it.",
                "type": "string",
              },
            },
            "required": [
              "name",
            ],
            "type": "object",
          },
          "name": "call_read_tool",
        },
        {
          "annotations": {
            "openWorldHint": true,
            "readOnlyHint": true,
          },
          "inputSchema": {
            "properties": {
              "calls": {
                "items": {
                  "properties": {
                    "arguments": {
                      "type": "object",
                    },
                    "name": {
                      "type": "string",
                    },
                  },
                  "required": [
                    "name",
                  ],
                  "type": "object",
                },
                "maxItems": 10,
                "minItems": 1,
                "type": "array",
              },
            },
            "required": [
              "calls",
            ],
            "type": "object",
          },
          "name": "call_read_tools",
        },
        {
          "annotations": {
            "destructiveHint": true,
            "openWorldHint": true,
            "readOnlyHint": false,
          },
          "inputSchema": {
            "properties": {
              "arguments": {
                "description": "Must fit the tool’s input schema.",
                "type": "object",
              },
              "name": {
                "description": "As search_tools gave it.",
                "type": "string",
              },
            },
            "required": [
              "name",
            ],
            "type": "object",
          },
          "name": "call_write_tool",
        },
        {
          "annotations": {
            "idempotentHint": true,
            "openWorldHint": false,
            "readOnlyHint": true,
          },
          "inputSchema": {
            "properties": {
              "names": {
                "items": {
                  "type": "string",
                },
                "maxItems": 10,
                "minItems": 1,
                "type": "array",
              },
            },
            "required": [
              "names",
            ],
            "type": "object",
          },
          "name": "describe_tool",
        },
        {
          "annotations": {
            "openWorldHint": true,
            "readOnlyHint": true,
          },
          "inputSchema": {
            "properties": {
              "limit": {
                "default": 10,
                "description": "At most 50.",
                "type": "integer",
              },
              "registry": {
                "description": "Id or name, or all; leave out for the list.",
                "type": "string",
              },
              "search": {
                "description": "Words in name or description.",
                "type": "string",
              },
              "tag": {
                "type": "string",
              },
            },
            "type": "object",
          },
          "name": "search_servers",
        },
        {
          "annotations": {
            "idempotentHint": true,
            "openWorldHint": false,
            "readOnlyHint": true,
          },
          "inputSchema": {
            "properties": {
              "limit": {
                "default": 8,
                "description": "Per query.",
                "maximum": 25,
                "minimum": 1,
                "type": "integer",
              },
              "queries": {
                "description": "Instead of query: several things to find at once, e.g. a tool for the task and one for a value it needs.",
                "items": {
                  "type": "string",
                },
                "maxItems": 5,
                "minItems": 1,
                "type": "array",
              },
              "query": {
                "description": "What you want to do, in your own words, any language.",
                "type": "string",
              },
              "schemas": {
                "default": true,
                "description": "Include input schemas of the best few.",
                "type": "boolean",
              },
            },
            "type": "object",
          },
          "name": "search_tools",
        },
      ]
    `);
  });
});
