"""Stands in for openai: a client of one call, over the standard library."""

import json
import os
import urllib.request
from types import SimpleNamespace


class OpenAI:
    def __init__(self):
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._create))

    def _create(self, **request):
        headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
        url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        call = urllib.request.Request(url, json.dumps(request).encode(), headers)
        with urllib.request.urlopen(call) as response:
            return json.load(response, object_hook=lambda members: SimpleNamespace(**members))
