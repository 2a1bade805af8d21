"""Configurations of other programs, as they document them, each with a server or two."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

SERVE, NOTES, URL = "/opt/serve", "/srv/notes", "https://remote.example/mcp"
"""To be replaced by real ones."""
FROM_FILE = {"FROM_FILE": "yes $HOME", "PROJECT": "{project}/src"}
CLAUDE_DESKTOP = """{
  "globalShortcut": "",
  "mcpServers": {
    "local": {"command": "/opt/serve", "args": ["/srv/notes"], "env": {"TOKEN": "t0ken"}}
  }
}"""
CLAUDE_CODE = """{
  "mcpServers": {
    "local": {
      "type": "stdio", "command": "${SERVER:-/opt/serve}", "args": ["${NOTES:-/srv/notes}"],
      "env": {"TOKEN": "${MY_TOKEN}"}, "timeout": 600000
    },
    "remote": {
      "type": "http", "url": "${REMOTE:-https://remote.example/mcp}",
      "headers": {"Authorization": "Bearer ${MY_TOKEN}"}, "alwaysLoad": true
    }
  }
}"""
CURSOR = """{
  "mcpServers": {
    "local": {
      "type": "stdio", "command": "/opt/serve", "args": ["/srv/notes"],
      "env": {"TOKEN": "${env:MY_TOKEN}", "PROJECT": "${workspaceFolder}${/}src"},
      "envFile": "${workspaceFolder}/.env"
    },
    "remote": {
      "url": "https://remote.example/mcp", "headers": {"Authorization": "Bearer ${env:MY_TOKEN}"}
    }
  }
}"""
VS_CODE = """{
  // Shared with the team.
  "inputs": [{"type": "promptString", "id": "key", "description": "API key", "password": true}],
  "servers": {
    "local": {
      "type": "stdio", "command": "/opt/serve", "args": ["/srv/notes"], /* and a file */
      "envFile": ".env",
      "env": {"TOKEN": "${env:MY_TOKEN}", "PROJECT": "${workspaceFolder}/src"},
      "dev": {"watch": "src/**/*.py"},
    },
    "remote": {
      "type": "http", "url": "https://remote.example/mcp",
      "headers": {"Authorization": "Bearer ${env:MY_TOKEN}"},
    },
  },
}"""
CLINE = """{
  "mcpServers": {
    "local": {
      "command": "/opt/serve", "args": ["/srv/notes"], "env": {"TOKEN": "t0ken"},
      "disabled": false, "autoApprove": ["echo"], "timeout": 60, "transportType": "stdio"
    },
    "remote": {
      "type": "streamableHttp", "url": "https://remote.example/mcp",
      "headers": {"Authorization": "Bearer t0ken"}, "autoApprove": [], "timeout": 30
    },
    "off": {"transportType": "pigeon", "disabled": true, "timeout": "soon"}
  }
}"""
WINDSURF = """{
  "mcpServers": {
    "local": {
      "command": "/opt/serve", "args": ["/srv/notes"], "env": {"TOKEN": "${env:MY_TOKEN}"},
      "disabled": false, "disabledTools": ["die"]
    },
    "remote": {
      "serverUrl": "https://remote.example/mcp",
      "headers": {"Authorization": "Bearer ${env:MY_TOKEN}"}
    }
  }
}"""
GEMINI_CLI = """{
  "theme": "Default", // of the terminal
  "mcpServers": {
    "local": {
      "command": "/opt/serve", "args": ["/srv/notes"], "env": {"TOKEN": "$MY_TOKEN"},
      "cwd": "./src", "timeout": 15000, "trust": false,
      "includeTools": ["echo", "die"], "excludeTools": ["die"]
    },
    "remote": {
      "httpUrl": "https://remote.example/mcp", "headers": {"Authorization": "Bearer $MY_TOKEN"},
      "timeout": 5000, "description": "Elsewhere"
    }
  }
}"""
ZED = """{
  "buffer_font_size": 15,
  "context_servers": {
    "local": {
      "source": "custom", "enabled": true,
      "command": "/opt/serve", "args": ["/srv/notes"], "env": {"TOKEN": "t0ken"},
    },
    // over HTTP
    "remote": {
      "url": "https://remote.example/mcp", "headers": {"Authorization": "Bearer t0ken"},
    },
    "off": {"source": "extension", "enabled": false, "settings": {}},
  },
}"""
CODEX = """
model = "some-model"

[mcp_servers.local]
command = "/opt/serve"
args = ["/srv/notes"]
env = { "TOKEN" = "t0ken" }
env_vars = ["LANG_OF_GAME", { name = "MY_TOKEN", source = "local" }]
enabled_tools = ["echo", "die"]
disabled_tools = ["die"]
startup_timeout_sec = 20

[mcp_servers.remote]
url = "https://remote.example/mcp"
bearer_token_env_var = "MY_TOKEN"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Language" = "LANG_OF_GAME" }

[mcp_servers.off]
enabled = false
"""

COPILOT_CLI = """{
  "mcpServers": {
    "local": {
      "type": "local", "command": "/opt/serve", "args": ["/srv/notes"], "env": {"TOKEN": "t0ken"},
      "tools": ["echo", "fail"]
    },
    "remote": {
      "type": "http", "url": "https://remote.example/mcp",
      "headers": {"Authorization": "Bearer t0ken"}, "tools": ["*"]
    }
  }
}"""
OPENCODE = """{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "local": {
      "type": "local", "command": ["/opt/serve", "/srv/notes"],
      "environment": {"TOKEN": "{env:MY_TOKEN}"}, "enabled": true, "timeout": 5000
    },
    "remote": {
      "type": "remote", "url": "https://remote.example/mcp", "oauth": false,
      "headers": {"Authorization": "Bearer {env:MY_TOKEN}"},
    },
    "off": {"type": "remote", "enabled": false, "url": "https://remote.example/mcp"}
  }
}"""

CHERRY_STUDIO = """{
  "mcpServers": {
    "local": {
      "isActive": true, "name": "Notes", "type": "stdio", "description": "", "registryUrl": "",
      "baseUrl": "", "command": "/opt/serve", "args": ["/srv/notes"],
      "env": {"TOKEN": "t0ken"}, "disabledTools": ["die"]
    },
    "remote": {
      "isActive": true, "type": "streamableHttp", "baseUrl": "https://remote.example/mcp",
      "headers": {"Authorization": "Bearer t0ken"}
    },
    "off": {"isActive": false, "type": "sse", "baseUrl": "https://remote.example/mcp"}
  }
}"""


CONTINUE = """name: mine
version: 0.0.1
schema: v1
mcpServers:
  - name: local
    command: /opt/serve
    args: [/srv/notes]
    env:
      TOKEN: ${{ secrets.MY_TOKEN }}
  - name: remote
    type: streamable-http
    url: https://remote.example/mcp
    requestOptions:
      headers:
        Authorization: Bearer t0ken
"""
GOOSE = """GOOSE_MODEL: some-model
extensions:
  developer: {type: builtin, name: developer, enabled: true, bundled: true, timeout: 300}
  local:
    type: stdio
    name: local
    cmd: /opt/serve
    args: [/srv/notes]
    envs: {TOKEN: t0ken, PORT: 3000, DEBUG: true}
    env_keys: [MY_TOKEN]
    available_tools: []
    enabled: true
    timeout: 300
  remote:
    type: streamable_http
    uri: https://remote.example/mcp
    headers: {Authorization: Bearer t0ken}
    enabled: true
"""


AMP = """{
  "amp.dangerouslyAllowAll": false,
  "amp.mcpServers": {
    "local": {
      "command": "/opt/serve", "args": ["/srv/notes"], "env": {"TOKEN": "${MY_TOKEN}"}
    },
    "remote": {
      "url": "https://remote.example/mcp", "headers": {"Authorization": "Bearer ${MY_TOKEN}"}
    },
    "off": {"url": "https://remote.example/mcp", "disabled": true}
  }
}"""
AUGMENT = """{
  "augment.advanced": {
    "mcpServers": [
      {
        "name": "local", "command": "/opt/serve", "args": ["/srv/notes"],
        "env": {"TOKEN": "t0ken"}
      },
      {
        "name": "remote", "type": "http", "url": "https://remote.example/mcp",
        "headers": {"Authorization": "Bearer t0ken"}
      },
    ]
  }
}"""

FIVE_IRE = """{
  "servers": [
    {
      "key": "local", "description": "Notes", "command": "/opt/serve", "args": ["/srv/notes"],
      "env": {"TOKEN": "t0ken"}, "isActive": true
    },
    {
      "key": "remote", "url": "https://remote.example/mcp",
      "headers": {"Authorization": "Bearer t0ken"}, "isActive": true
    },
    {"key": "off", "command": "npx", "args": ["-y", "nothing"], "isActive": false}
  ]
}"""

JAN = """{
  "mcpServers": {
    "local": {
      "command": "/opt/serve", "args": ["/srv/notes"], "env": {"TOKEN": "t0ken"},
      "active": true, "official": true
    },
    "remote": {
      "type": "http", "url": "https://remote.example/mcp", "command": "", "args": [], "env": {},
      "headers": {"Authorization": "Bearer t0ken"}, "timeout": 30, "active": true
    },
    "off": {"command": "npx", "args": ["-y", "olostep-mcp"], "env": {}, "active": false}
  },
  "mcpSettings": {"toolCallTimeoutSeconds": 30, "enableSmartToolRouting": true}
}"""

COPILOT_JETBRAINS = """{
  "servers": {
    "local": {"command": "/opt/serve", "args": ["/srv/notes"], "env": {"TOKEN": "t0ken"}},
    "remote": {
      "url": "https://remote.example/mcp",
      "requestInit": {"headers": {"Authorization": "Bearer t0ken"}}
    }
  }
}"""


class Example(NamedTuple):
    """A program's file in a project, and what comes of it."""

    file: str
    text: str
    variables: Mapping[str, str] = MappingProxyType({})
    """What the local server knows besides its TOKEN."""
    not_offered: tuple[str, ...] = ()
    folder: str = "."
    """Where the local server works."""
    headers: Mapping[str, str] = MappingProxyType({"authorization": "Bearer t0ken"})


EXAMPLES = {
    "Claude Desktop": Example("claude_desktop_config.json", CLAUDE_DESKTOP, headers={}),
    "Claude Code": Example(".mcp.json", CLAUDE_CODE),
    "Cursor": Example(".cursor/mcp.json", CURSOR, FROM_FILE),
    "VS Code": Example(".vscode/mcp.json", VS_CODE, FROM_FILE),
    "VS Code's settings.json": Example("settings.json", f'{{"mcp": {VS_CODE}}}', FROM_FILE),
    "Cline": Example("cline_mcp_settings.json", CLINE),
    "Windsurf": Example("mcp_config.json", WINDSURF, not_offered=("die",)),
    "Gemini CLI": Example(
        ".gemini/settings.json", GEMINI_CLI, not_offered=("die", "fail"), folder="src"
    ),
    "Zed": Example(".zed/settings.json", ZED),
    "Codex": Example(
        ".codex/config.toml",
        CODEX,
        {"LANG_OF_GAME": "en", "MY_TOKEN": "t0ken"},
        not_offered=("die", "fail"),
        headers={"authorization": "Bearer t0ken", "x-region": "eu", "x-language": "en"},
    ),
    "GitHub Copilot CLI": Example("mcp-config.json", COPILOT_CLI, not_offered=("die",)),
    "OpenCode": Example("opencode.json", OPENCODE),
    "Cherry Studio": Example("servers.json", CHERRY_STUDIO, not_offered=("die",)),
    "Continue": Example("config.yaml", CONTINUE),
    "Goose": Example("goose.yaml", GOOSE, {"MY_TOKEN": "t0ken", "PORT": "3000", "DEBUG": "true"}),
    "Amp": Example(".amp/settings.json", AMP),
    "Augment": Example("augment_settings.json", AUGMENT),
    "5ire": Example("mcp.json", FIVE_IRE),
    "Jan": Example("mcp_config.json", JAN),
    "GitHub Copilot for JetBrains": Example("mcp.json", COPILOT_JETBRAINS),
}
