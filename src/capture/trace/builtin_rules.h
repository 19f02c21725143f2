// How known functions of C are called while a trace runs.
#pragma once

#include "capture/trace/builtin_table.h"

namespace triptych::capture::rules {

using Rule = const BuiltinRule&;
using Function = const CFunction&;
using Args = const Arguments&;

Owned pure(Tracer&, Rule, Function, Args);       // looks at what it is given, one level deep
Owned pure_deep(Tracer&, Rule, Function, Args);  // all the way down
Owned hold(Tracer&, Rule, Function, Args);       // keeps or passes on what it is given, unseen
Owned hold_own(Tracer&, Rule, Function, Args);   // the same, but changes a fresh object before them
Owned of_fresh(Tracer&, Rule, Function, Args);   // only of objects made while tracing
Owned mutates(Tracer&, Rule, Function, Args);    // the list or set that comes first
Owned mutates_fresh(Tracer&, Rule, Function, Args);
Owned operate(Tracer&, Rule, Function, Args);  // the module `operator`

Owned len(Tracer&, Rule, Function, Args);
Owned order(Tracer&, Rule, Function, Args);
Owned filter(Tracer&, Rule, Function, Args);
Owned any(Tracer&, Rule, Function, Args);
Owned all(Tracer&, Rule, Function, Args);
Owned sum(Tracer&, Rule, Function, Args);
Owned map(Tracer&, Rule, Function, Args);
Owned reduce(Tracer&, Rule, Function, Args);
Owned identity(Tracer&, Rule, Function, Args);
Owned variables(Tracer&, Rule, Function, Args);
Owned reduce_object(Tracer&, Rule, Function, Args);
Owned hash(Tracer&, Rule, Function, Args);
Owned to_bool(Tracer&, Rule, Function, Args);
Owned type_of(Tracer&, Rule, Function, Args);
Owned is_instance(Tracer&, Rule, Function, Args);
Owned is_subclass(Tracer&, Rule, Function, Args);
Owned get_attribute(Tracer&, Rule, Function, Args);
Owned has_attribute(Tracer&, Rule, Function, Args);
Owned set_attribute(Tracer&, Rule, Function, Args);
Owned delete_attribute(Tracer&, Rule, Function, Args);

Owned generic_get(Tracer&, Rule, Function, Args);
Owned generic_set(Tracer&, Rule, Function, Args);
Owned generic_delete(Tracer&, Rule, Function, Args);
Owned type_call(Tracer&, Rule, Function, Args);
Owned type_get(Tracer&, Rule, Function, Args);
Owned type_instance(Tracer&, Rule, Function, Args);
Owned abc_instance(Tracer&, Rule, Function, Args);
Owned abc_subclass(Tracer&, Rule, Function, Args);
Owned type_subclass(Tracer&, Rule, Function, Args);
Owned c_new(Tracer&, Rule, Function, Args);

Owned contains(Tracer&, Rule, Function, Args);
Owned dict_write(Tracer&, Rule, Function, Args);  // its whole content
Owned dict_get(Tracer&, Rule, Function, Args);
Owned dict_item(Tracer&, Rule, Function, Args);
Owned dict_set(Tracer&, Rule, Function, Args);
Owned dict_delete(Tracer&, Rule, Function, Args);
Owned dict_pop(Tracer&, Rule, Function, Args);
Owned dict_set_default(Tracer&, Rule, Function, Args);
Owned dict_update(Tracer&, Rule, Function, Args);

Owned query(Tracer&, Rule, Function, Args);     // state of torch, which is guarded
Owned set_mode(Tracer&, Rule, Function, Args);  // sets it: a node

}  // namespace triptych::capture::rules
