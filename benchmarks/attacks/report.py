def write_report(out, docs):
    pass
