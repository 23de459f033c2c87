"""PromptKit's memory as Python: a store, a retriever, an extractor, an executor.

``memories`` has the data types, ``protocols`` the interfaces, ``testing`` a store in a
list, ``store`` ours over records, ``retrieving`` and ``extracting`` our retriever and
extractor for conversations, ``executor`` the four tools, ``extras`` the two tools that
our store adds, and ``stages`` what runs before and after a model.
"""
