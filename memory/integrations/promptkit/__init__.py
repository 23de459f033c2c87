"""PromptKit's memory as Python: a store, a retriever, an extractor, an executor.

``memories`` is what they hand around, ``protocols`` what each must do, ``testing`` the
store that lives in a list, ``store`` ours over records, ``retrieving`` and
``extracting`` our two readers of a conversation, ``executor`` the four tools,
``extras`` the two that our store brings along, and ``stages`` what runs before and
after a model.
"""
