"""A Jupyter server extension that sends small messages of a kernel without delay.

A kernel first says that it is busy, then answers. Both messages are small, and by default a TCP
connection holds the second one back until the first is acknowledged (RFC 896), which the browser's
side delays by up to 40 ms (RFC 1122, section 4.2.3.2, allows 500). Every click on a widget would
wait for that. `explorer lab` loads this extension into the server that it starts; another server
loads it with the option ``--ServerApp.jpserver_extensions=widgets.prompt_socket=True``.
"""

from __future__ import annotations

from typing import Any, Final, cast

# The server looks its two functions up by name.
__all__ = ["_jupyter_server_extension_points", "_load_jupyter_server_extension", "prompt"]

SETTING: Final = "kernel_websocket_connection_class"


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    """The module in which the server finds the extension: this one."""
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Switch the delay off for every connection between a page and a kernel.

    The server's own class for connections, such as a gateway's, becomes the base class.

    Args:
        server: The running ``ServerApp``.
    """
    settings = server.web_app.settings
    settings[SETTING] = prompt(settings[SETTING])


def prompt(chosen: type[Any]) -> type[Any]:
    """A connection class that differs from another only in the delay.

    Args:
        chosen: A subclass of jupyter_server's ``BaseKernelWebsocketConnection``.
    """

    def connect(self: Any) -> Any:
        self.websocket_handler.set_nodelay(True)
        return cast(Any, chosen).connect(self)

    return type("PromptConnection", (chosen,), {"connect": connect})
